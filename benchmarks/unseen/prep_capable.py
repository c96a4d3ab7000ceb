"""Makes the generated bits (sudoku, protobuf hex) of set 2: prints them; they were pasted into spec_capable.txt by replacement."""
import random
def gen_sudoku(seed):
    r=random.Random(seed); base=3
    def solve(g,limit=2,rnd=False):
        best=None;bc=None
        for i in range(81):
            if g[i]==0:
                R,C=divmod(i,9); used={g[R*9+k] for k in range(9)}|{g[k*9+C] for k in range(9)}|{g[(R//3*3+a)*9+C//3*3+b] for a in range(3) for b in range(3)}
                c=[d for d in range(1,10) if d not in used]
                if bc is None or len(c)<len(bc): best,bc=i,c
                if not c: return 0
        if best is None: sol[:]=g; return 1
        if rnd: r.shuffle(bc)
        n=0
        for d in bc:
            g[best]=d; n+=solve(g,limit-n,rnd); g[best]=0
            if n>=limit: break
        return n
    sol=[]; solve([0]*81,1,True); g=sol[:]; cells=list(range(81)); r.shuffle(cells)
    for i in cells:
        v=g[i]; g[i]=0
        if solve(g[:])!=1: g[i]=v
    return ''.join(map(str,g))
def vint(n):
    o=b''
    while True:
        b=n&127; n>>=7
        o+=bytes([b|(128 if n else 0)])
        if not n: return o
def proto():
    zz=lambda n:(n<<1)^(n>>63)
    r=random.Random(19); vals=[r.randint(-70000,70000) for _ in range(8)]+[-3,64,-65,5]
    r.shuffle(vals)
    p=b''.join(vint(zz(v)&(2**64-1)) for v in vals)
    name='Pumpstation Ö4'.encode()
    m=vint(1<<3|2)+vint(len(name))+name+vint(2<<3|0)+vint(1756713600)+vint(5<<3|2)+vint(len(p))+p+vint(7<<3|5)+b'\x00\x00\x48\x41'
    extra=b''.join(vint(zz(v)) for v in (-1200,77)); m+=vint(5<<3|2)+vint(len(extra))+extra
    return m.hex(), sum(vals)-1200+77
if __name__=='__main__':
    s=open('spec_capable.txt',encoding='utf-8').read()
    g=gen_sudoku(101); s=s.replace('{{SUDOKU}}','\n'.join(g[i:i+9].replace('0','.') for i in range(0,81,9)))
    h,t=proto(); s=s.replace('{{PROTO}}',h); print(t)
    open('spec_capable.txt','w',encoding='utf-8').write(s)
