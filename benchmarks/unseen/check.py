"""Re-runs every solver, compares with the answers in the three .jsonl, checks files, ids, counts, levels, links of the site.
Run: python check.py"""
import json, os, re, subprocess, sys, posixpath
from collections import Counter
H=os.path.dirname(os.path.abspath(__file__)); P=lambda *a: os.path.join(H,*a)
py=P('.venv/bin/python') if os.path.exists(P('.venv/bin/python')) else sys.executable
bad=[]; ids=Counter(); want={'ladder':40,'capable':48,'tools':40}; files=Counter()
def same(a,b,tol):
    if a==b: return True
    try: return tol is not None and abs(float(a)-float(b))<=tol*abs(float(a))
    except ValueError: return False
for name,n in want.items():
    rows=[json.loads(l) for l in open(P(name+'.jsonl'),encoding='utf-8')]
    if len(rows)!=n: bad.append(f'{name}: {len(rows)} lines')
    for q in rows:
        i=q['id']; ids[i]+=1
        if list(q)!=['id','level','kind','question','file','answer','tolerance','again']: bad.append(f'{i}: keys')
        if q['level'] not in('easy','middle','hard') or q['kind'] not in('compute','file','web','reusable','oneoff'): bad.append(f'{i}: level/kind')
        fs=[q['file']] if isinstance(q['file'],str) else q['file'] or []
        for f in fs:
            files[f]+=1
            if not (os.path.isfile(P(f)) and os.path.getsize(P(f))): bad.append(f'{i}: no {f}')
        if (q['kind']=='file')!=bool(fs) and q['kind']!='oneoff': bad.append(f'{i}: file')
        if (q['kind']=='web')!=('{SITE}/' in q['question']): bad.append(f'{i}: SITE')
        for s in re.findall(r'\{SITE\}/([\w./-]+)',q['question']):
            if not os.path.isfile(P('site',s.rstrip('.'))): bad.append(f'{i}: page {s}')
        if (q['kind']=='reusable')!=bool(q['again']): bad.append(f'{i}: again')
        if '{{' in q['question'] or not q['answer'].strip() or len(q['answer'])>60: bad.append(f'{i}: text')
        r=subprocess.run([py,P(f'solve_{i}.py')],capture_output=True,text=True,cwd=H,timeout=300)
        out=r.stdout.strip().split('\n')
        if r.returncode: bad.append(f'{i}: solver fails: {r.stderr[-200:]}'); continue
        if not same(out[0],q['answer'],q['tolerance']): bad.append(f'{i}: {out[0]} is not {q["answer"]}')
        if q['again'] and not same(out[1],q['again']['answer'],q['tolerance']): bad.append(f'{i} again: {out[1]} is not {q["again"]["answer"]}')
    print(name,len(rows),dict(Counter(q['kind'] for q in rows)),dict(Counter(q['level'] for q in rows)))
for i,n in ids.items():
    if n>1: bad.append(f'id {i} twice')
for f,n in files.items():
    if n>1: bad.append(f'{f} used {n} times')
for f in os.listdir(P('files')):
    if 'files/'+f not in files: bad.append(f'files/{f} not used')
pages=0
for d,_,fs in os.walk(P('site')):
    for f in fs:
        if f.endswith('.html'):
            pages+=1
            for h in re.findall(r'href="([^"#]+)"',open(os.path.join(d,f),encoding='utf-8').read()):
                if '://' in h or h.startswith('/') or not os.path.isfile(os.path.join(d,h)): bad.append(f'{f}: link {h}')
print('files',len(files),sum(os.path.getsize(P(f)) for f in files)//1024,'kB; site pages',pages)
print('\n'.join(bad) if bad else 'all good'); sys.exit(bool(bad))
