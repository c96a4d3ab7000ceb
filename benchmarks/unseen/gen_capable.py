"""Files of set 2, fixed seeds."""
import random, csv, json, io, os, zipfile, tarfile, gzip, sqlite3, math, struct, wave, zlib
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction as F
from collections import defaultdict, Counter
import openpyxl, docx
os.chdir(os.path.dirname(os.path.abspath(__file__)))
T={}
def money(x):
    x=F(x); assert (x*200).denominator!=1 or (x*200).numerator%2==0,'tie'; return f'{float(x):.2f}'
ZT=(2025,6,1,12,0,0)

# C21 five sheets
r=random.Random(2101); wb=openpyxl.Workbook(); ws=wb.active; ws.title='Orders'
countries=['Norway','Sweden','Ireland','Portugal','Estonia']; cust={}; 
for i in range(1,401): cust[f'C{i:04d}']=[r.choice(countries),None]
ids=list(cust)
for k in r.sample(ids[40:],45): cust[k][1]=r.choice(ids[:40]) if r.random()<.8 else None
chain=[k for k in ids if cust[k][1]]
for k in chain[:8]: cust[k][1]=chain[20] if cust[chain[20]][1] and chain[20]!=k else cust[k][1]
def final(k):
    while cust[k][1]: k=cust[k][1]
    return k
cats=['Tea','Coffee','Cocoa','Spices']; vat={'Tea':F(12,100),'Coffee':F(12,100),'Cocoa':F(15,100),'Spices':F(25,100)}
prod={f'P-{100+i}':(r.choice(cats),r.randint(350,6400)) for i in range(60)}
cur=['EUR','NOK','SEK']; rate={(c,m):F(1) if c=='EUR' else F(r.randint(11200,11900),1000) if c=='NOK' else F(r.randint(11000,11700),1000) for c in cur for m in range(1,13)}
orders=[]; ret=defaultdict(int); retrows=[]
for i in range(5200):
    d=date(2024,1,1)+timedelta(r.randint(0,365)); p=r.choice(list(prod)); c=r.choice(ids); q=r.randint(1,30); cu=r.choice(cur)
    pr=prod[p][1]*(1 if cu=='EUR' else 11)+r.randint(-50,50); orders.append([f'SO{50000+i}',d,c,p,q,pr,cu])
    if r.random()<.07:
        n=r.randint(1,q); ret[f'SO{50000+i}']+=n; retrows.append([f'SO{50000+i}',n,d+timedelta(r.randint(3,60))])
        if n<q and r.random()<.3: ret[f'SO{50000+i}']+=1; retrows.append([f'so{50000+i}',1,d+timedelta(r.randint(61,90))])
ws.append(['Order','Date','Customer','Product','Quantity','Unit price incl. VAT','Currency'])
tot=F(0)
for o,d,c,p,q,pr,cu in orders:
    ws.append([o,d if r.random()<.85 else d.strftime('%d.%m.%Y'),c if r.random()<.9 else f' {c.lower()}',p,q,pr/100,cu])
    if prod[p][0]=='Tea' and 7<=d.month<=9 and d.year==2024 and cust[final(c)][0]=='Norway': tot+=F(pr,100)*(q-ret[o])/rate[cu,d.month]/(1+vat['Tea'])
w=wb.create_sheet('Customers'); w.append(['Customer','Country','Merged into'])
for k in ids: w.append([k,*cust[k]])
w=wb.create_sheet('Products'); w.append(['Product','Category','VAT %'])
for k in prod: w.append([k,prod[k][0],float(vat[prod[k][0]]*100)])
w=wb.create_sheet('Rates'); w.append(['1 EUR in month (2024)']+cur)
for m in range(1,13): w.append([m]+[float(rate[c,m]) for c in cur])
r.shuffle(retrows); w=wb.create_sheet('Returns'); w.append(['Order','Pieces returned','Date'])
for x in retrows: w.append(x)
wb.save('files/import_house_2024.xlsx'); T['C21']=money(tot)

# C22 nested zip inventory
r=random.Random(22); skus=[f'SKU{r.randint(10000,99999)}' for _ in range(320)]; skus=sorted(set(skus)); st={d:{s:r.randint(0,60) for s in skus if r.random()<.75} for d in 'ABC'}; reorder={s:r.choice([20,40,60,80,100]) for s in skus}
corr=[(d,r.choice(sorted(st[d])),r.choice([-1,1])*r.randint(1,9)) for d in r.choices('ABC',k=60)]
tot={s:sum(st[d].get(s,0) for d in 'ABC') for s in skus}
for d,s,n in corr: tot[s]+=n
T['C22']=str(sum(tot[s]<reorder[s] for s in skus))
zi=io.BytesIO(); z=zipfile.ZipFile(zi,'w',zipfile.ZIP_DEFLATED); z.writestr(zipfile.ZipInfo('depot_c.xml',ZT),'<?xml version="1.0"?>\n<stock depot="C">\n'+'\n'.join(f'  <rack no="{i}">'+''.join(f'<item sku="{s}" count="{n}"/>' for s,n in ch)+'</rack>' for i,ch in enumerate([list(st["C"].items())[k:k+9] for k in range(0,len(st["C"]),9)]))+'\n</stock>\n'); z.close()
z=zipfile.ZipFile('files/stocktaking.zip','w',zipfile.ZIP_DEFLATED)
a=[]; 
for s,n in st['A'].items():
    if n>4 and r.random()<.2: k=r.randint(1,n-1); a+= [(s,k),(s,n-k)]
    else: a.append((s,n))
r.shuffle(a)
z.writestr(zipfile.ZipInfo('depot_a.csv',ZT),'bay;sku;pieces\n'+'\n'.join(f'{r.randint(1,40)};{s};{n}' for s,n in a)+'\n')
z.writestr(zipfile.ZipInfo('depot_b/stock.json',ZT),json.dumps({'depot':'B','aisles':[{'aisle':i,'stock':dict(ch)} for i,ch in enumerate([list(st['B'].items())[k:k+20] for k in range(0,len(st['B']),20)])]}))
z.writestr(zipfile.ZipInfo('from_depot_c/depot_c.zip',ZT),zi.getvalue())
z.writestr(zipfile.ZipInfo('catalogue.csv',ZT),'sku,reorder_level\n'+'\n'.join(f'{s},{n}' for s,n in reorder.items())+'\n')
z.writestr(zipfile.ZipInfo('corrections.txt',ZT),'Corrections after the recount (to be added to the counts)\n'+'\n'.join(f'depot {d}, {s}: {n:+d}' for d,s,n in corr)+'\n'); z.close()

# C23 JSON lines 3 MB
r=random.Random(23); lines=[]; N=0; types=['view','search','add_to_cart','view','view','help']
base=datetime(2025,5,5,tzinfo=timezone.utc)
for u in range(900):
    t=base+timedelta(minutes=r.randint(0,2880)); uid=f'u{r.randint(10**5,10**6)}-{u}'
    for s in range(r.choice([1,1,2,3,4])):
        evs=[r.choice(types) for _ in range(r.randint(2,16))]
        co=r.random()<.4; pay=co and r.random()<.55
        if co: evs.insert(r.randint(1,len(evs)),'checkout')
        if pay: evs.insert(r.randint(evs.index('checkout')+1,len(evs)),'payment_ok')
        elif co and r.random()<.5: evs.insert(r.randint(evs.index('checkout')+1,len(evs)),'payment_failed')
        N+= co and not pay
        for k,e in enumerate(evs):
            if k: t+=timedelta(seconds=r.randint(2,1500) if r.random()<.15 else r.randint(2,180))
            ts=r.random()
            stamp=int(t.timestamp()*1000) if ts<.3 else (t.astimezone(timezone(timedelta(hours=2))).isoformat() if ts<.6 else t.strftime('%Y-%m-%dT%H:%M:%SZ'))
            lines.append((t,json.dumps({'ts':stamp,'user':{'id':uid,'agent':r.choice(['ios','android','web','web'])},'event':e,'page':f'/p/{r.randint(1,999)}','meta':{'ab':r.choice('AB'),'ref':r.choice(['mail','ads',None]),'trace':f'{r.getrandbits(64):016x}'}})))
        t+=timedelta(minutes=r.randint(31,900))
lines.sort(key=lambda x:x[0]); lines=[l for _,l in lines]
for _ in range(len(lines)//20):
    i=r.randrange(len(lines)-30); j=i+r.randint(1,25); lines[i],lines[j]=lines[j],lines[i]
out=[]
for l in lines:
    out.append(l)
    if r.random()<.004: out.append('{"ts":1746400000000,"user":{"id":"u')
    if r.random()<.003: out.append(json.dumps({'ts':'2025-05-06T00:00:00Z','heartbeat':True,'host':'web-3'}))
open('files/clickstream.jsonl','w').write('\n'.join(out)+'\n'); T['C23']=str(N)

# C24 long contract DOCX
r=random.Random(24); d=docx.Document(); d.add_heading('Framework Agreement on Facility Services',0)
d.add_paragraph('between Norrland Cold Storage AB ("the Customer") and Pilgrim & Daughters Facility Ltd ("the Provider"), signed on 14 March 2022.')
subj=['cleaning','waste','access','keys','liability','insurance','staff','reporting','audits','data protection','subcontractors','force majeure','invoicing','late payment','termination','confidentiality','notices','equipment','consumables','safety']
leg=['The Provider shall carry out the work with due care and by qualified staff.','Any deviation needs the prior written consent of the Customer, which shall not be unreasonably withheld.','The parties shall meet at least once in each quarter to review performance.','Records shall be kept for seven years after the end of the contract year to which they relate.','Where a deadline falls on a public holiday, the next working day applies.','Nothing in this clause limits rights which by law cannot be limited.','The Provider shall inform the Customer within 48 hours of any incident.','Costs of travel are included in the fees unless Annex 1 says otherwise.']
for i,s in enumerate(subj*2):
    if i>=36: break
    d.add_heading(f'{i+1}. {s.capitalize()}'+(' (continued)' if i>=20 else ''),1)
    for k in range(r.randint(3,6)):
        tx=' '.join(r.sample(leg,r.randint(2,5)))
        if i==12 and k==1: tx='The fees in Annex 1 are monthly fees without value added tax. On 1 January of each year, for the first time on 1 January 2024, every fee then in force is raised by the index rate published for that year in Annex 2 and rounded to full cents (half cents up). Amendments that take effect on a 1 January take effect after that raise.'
        if i==12 and k==2: tx='For service codes beginning with W, a month in which a service level was missed entitles the Customer to a reduction under clause 26.'
        d.add_paragraph(f'{i+1}.{k+1} '+tx)
    if i==25: d.add_paragraph('26.9 The reduction is 7.5 % of the monthly fee for each missed service level, at most 20 % for a month.')
fees={}; codes=[f'{c}{n:02d}' for c in 'CWKG' for n in range(1,10)]
d.add_heading('Annex 1 - Monthly fees in euros',1); tb=d.add_table(rows=1,cols=3)
for c,h in zip(tb.rows[0].cells,['Code','Service','Fee']): c.text=h
for c in codes:
    fees[c]=r.randint(18000,390000); row=tb.add_row().cells; row[0].text=c; row[1].text={'C':'Cleaning','W':'Waste removal','K':'Key and access service','G':'Grounds'}[c[0]]+f', building {r.randint(1,14)}'; row[2].text=f'{fees[c]/100:,.2f}'
d.add_heading('Annex 2 - Index rates',1)
idx={2024:'3.1 %',2025:'2.4 %',2026:'1.9 %',2027:'2.0 %'}
for y,v in idx.items(): d.add_paragraph(f'Index rate for {y}: {v}')
am=[('Amendment 1, signed 2 May 2023','With effect from 1 July 2023 the fee for W04 is set at 1,480.00 and the fee for C02 at 905.00. The fee for W07 is cut by 5 %.'),
('Amendment 2, signed 20 November 2023','With effect from 1 January 2024 the fee for W04 is raised by 62.50 and service K03 ends.'),
('Amendment 3, signed 3 June 2024','With effect from 1 September 2024 all fees for codes beginning with W are cut by 4 % and rounded to full cents (half cents up). In clause 26.9 "7.5 %" is replaced by "6 %" and "20 %" by "15 %".'),
('Amendment 4, signed 11 February 2025','With effect from 1 April 2025 the fee for W04 is set at 1,390.00 and the fee for G05 is raised by 8 %.'),
('Amendment 5, signed 28 March 2025','Amendment 4 is withdrawn as far as it concerns W04 and is treated as if it had never been agreed in that respect. With effect from 1 October 2025 the fee for W04 is raised by 118.20.'),
('Amendment 6, signed 9 January 2026','With effect from 1 May 2026 the fee for W04 is set at 1,300.00.')]
for h,t in am:
    d.add_heading(h,1); d.add_paragraph(' '.join(r.sample(leg,2))); d.add_paragraph(t); d.add_paragraph('All other provisions of the agreement remain unchanged.')
d.add_heading('Schedule of service levels missed (reported by the Customer)',1)
for m,n,c in [('January 2026',1,'W04'),('February 2026',2,'W03'),('March 2026',2,'W04'),('March 2026',1,'C04'),('April 2026',3,'W04')]: d.add_paragraph(f'{m}: service {c}, {n} service level(s) missed',style='List Bullet')
d.save('files/framework_agreement.docx')
from decimal import Decimal as D, ROUND_HALF_UP
q=lambda x: x.quantize(D('0.01'),ROUND_HALF_UP)
f=D('1480.00'); f=q(f*D('1.031')); f+=D('62.50'); f=q(f*D('0.96')); f=q(f*D('1.024')); f+=D('118.20'); f=q(f*D('1.019')); T['C24']=str(q(f*D('0.88')))

# C25 long PDF
from reportlab.pdfgen import canvas
from reportlab.lib.pagesizes import A4
r=random.Random(25); c=canvas.Canvas('files/water_report.pdf',pagesize=A4,invariant=1); n=0
c.setFont('Helvetica-Bold',20); c.drawString(60,700,'Groundwater of the Ilva basin, 2023'); c.setFont('Helvetica',11); c.drawString(60,660,'Nitrate at 34 stations, monthly values in mg/L.'); 
for i,l in enumerate(['Rules for the annual mean of a station:','- a value given as "<0.5" is below the detection limit and enters as 0.25;','- a value followed by an asterisk (*) is invalid and is left out;','- "n.s." means that no sample was taken; it is left out;','- a station needs at least 9 valid values in the year, otherwise it has no annual mean.']): c.drawString(60,620-16*i,l)
c.showPage(); months='Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(); margin=9
for s in range(34):
    c.setFont('Helvetica-Bold',13); nm=f'Station {r.choice(["Alder","Birch","Cairn","Dale","Elm","Fen"])} {100+s}'; c.drawString(60,790,nm); c.setFont('Helvetica',9); c.drawString(60,772,f'Depth of the well {r.randint(4,60)} m. Page {s+2} of 35. Limit value 50 mg/L, guide value 25 mg/L.')
    lev=r.choice([.4,3,8,15,22,27,33]); bad=r.random()<.15; y=740; v=[]; c.setFont('Courier',10); c.drawString(60,y,'Month     Nitrate   Chloride   Temp'); 
    for m in months:
        y-=16; x=round(max(0.1,r.gauss(lev,lev*.25)),1); k=r.random(); sx=f'{x:.1f}'
        if k<(.3 if bad else .06): sx='n.s.'
        elif k<(.4 if bad else .12): sx+='*'
        elif x<.5: sx='<0.5'; v.append(F(1,4))
        else: v.append(F(sx))
        c.drawString(60,y,f'{m:<10}{sx:<10}{r.uniform(8,60):<11.1f}{r.uniform(6,13):.1f}')
    if len(v)>=9:
        me=sum(v)/len(v); margin=min(margin,abs(me-25)); n+=me>25
    c.setFont('Helvetica',9); c.drawString(60,y-30,r.choice(['Well cleaned in spring.','Pump replaced.','No remarks.','Access road flooded at times; some samples were not taken.'])); c.showPage()
c.save(); T['C25']=str(n); print('C25 margin',float(margin))

# C26 receipt picture
from PIL import Image, ImageDraw, ImageFont
r=random.Random(26); items=[('RYE BREAD 750G','A',1,345),('OLIVE OIL 1L','A',2,899),('SHAMPOO HERBAL','B',1,429),('BANANAS 1.24 KG','A',1,246),('BATTERIES AA 8P','B',2,675),('LOYALTY DISCOUNT','-',0,-150),('GREEN TEA','A',3,219),('WASHING POWDER','B',1,1149),('DISCOUNT 20%','-',0,-230),('CHEDDAR','A',1,562),('NOTEBOOK A5','B',4,185),('DEPOSIT BOTTLE','-',0,25),('BIRTHDAY CARD','B',1,310),('VOID BIRTHDAY CARD','B',-1,310),('TOOTHPASTE','B',2,239)]
im=Image.new('RGB',(560,900),(250,248,240)); dr=ImageDraw.Draw(im); fo=ImageFont.truetype('/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf',19)
y=24
def put(s):
    global y; dr.text((28,y),s,font=fo,fill=(30,30,35)); y+=30
for s in ['     MARKET HALL FIVEWAYS','   12 Tanner Row, Oldbury','   14.08.2025  17:42  Till 3','-'*36]: put(s)
tot=0; B=0; last=None
for nm,k,qn,p in items:
    if k=='-': put(f'  {nm:<22}{p/100:>9.2f}'); tot+=p; B+= p if last=='B' and p<0 else 0; 
    else:
        if abs(qn)>1: put(f'  {qn} x {p/100:.2f}')
        put(f'{nm:<22}{qn*p/100:>11.2f} {k}'); tot+=qn*p; B+=qn*p if k=='B' else 0; last=k
put('-'*36); put(f'TOTAL EUR{"":<13}{tot/100:>11.2f}'); put(f'CASH{"":<18}{100:>11.2f}'); put('A = 7 % VAT   B = 19 % VAT'); 
im=im.rotate(1.2,expand=True,fillcolor=(120,110,100),resample=Image.BICUBIC); im.save('files/receipt.png'); T['C26']=f'{B/100:.2f}'

# C27 SQLite organisation
r=random.Random(27); fn='files/organisation.db'
if os.path.exists(fn): os.remove(fn)
db=sqlite3.connect(fn); db.executescript('''create table person(id integer primary key,full_name text,born text);create table site(id integer primary key,city text);create table position(id integer primary key,title text,site_id int,reports_to int);create table assignment(id integer primary key,person_id int,position_id int,valid_from text,valid_to text,fte real);create table salary(person_id int,valid_from text,yearly_cents int);create table audit(id integer primary key,at text,what text);create table holiday(day text);create table skill(person_id int,skill text);''')
for i,cn in enumerate(['Bergen','Gdańsk','Cork','Graz'],1): db.execute('insert into site values(?,?)',(i,cn))
par={1:None}
for i in range(1,381):
    if i>1: par[i]=r.randint(max(1,i//5-4),max(1,i//5))
    db.execute('insert into position values(?,?,?,?)',(i,r.choice(['Engineer','Analyst','Clerk','Planner','Technician']) if i>30 else 'Head of unit %d'%i,r.randint(1,4),par[i]))
fn_=['Ottilie','Mats','Ruth','Iker','Jana','Pello','Sanna','Viktor']; ln=['Brandvold','Ek','Moreau','Szabo','Quinn','Lorca','Hahn']
asof='2025-06-30'; pos_people=defaultdict(list); ai=0; sal=defaultdict(list)
for p in range(1,521):
    nm='Ottilie Brandvold' if p==9 else None
    while nm is None or (p!=9 and nm=='Ottilie Brandvold'): nm=f'{r.choice(fn_)} {r.choice(ln)}'
    db.execute('insert into person values(?,?,?)',(p,nm,f'19{r.randint(60,99)}-0{r.randint(1,9)}-1{r.randint(0,9)}'))
    d=date(2018,1,1)+timedelta(r.randint(0,2000))
    po=7 if p==9 else (p if p<=380 and p!=7 else r.randint(20,380))
    if p==7: po=9
    if p<=380 and r.random()<.15 and p not in(7,9): # moved later or earlier
        mid=date(2024,1,1)+timedelta(r.randint(0,900)); other=r.randint(20,380)
        seg=[(other,d,mid-timedelta(1)),(po,mid,None)]
    else: seg=[(po,d,None if r.random()<.88 or p in(7,9) else date(2024,6,1)+timedelta(r.randint(0,700)))]
    for q_,a,b in seg:
        ai+=1; fte=1.0 if p==9 else r.choice([1.0,1.0,1.0,.8,.5]); db.execute('insert into assignment values(?,?,?,?,?,?)',(ai,p,q_,a.isoformat(),b and b.isoformat(),fte))
        if a.isoformat()<=asof and (b is None or b.isoformat()>=asof): pos_people[q_].append((p,F(str(fte))))
    x=r.randint(2800000,6500000); dd=d
    for _ in range(r.randint(1,4)):
        db.execute('insert into salary values(?,?,?)',(p,dd.isoformat(),x)); sal[p].append((dd.isoformat(),x)); dd+=timedelta(r.randint(200,900)); x+=r.randint(50000,400000)
    if r.random()<.4: db.execute('insert into skill values(?,?)',(p,r.choice(['forklift','SQL','first aid'])))
for i in range(900): db.execute('insert into audit values(?,?,?)',(i,f'2025-0{r.randint(1,6)}-1{r.randint(0,9)}T0{r.randint(0,9)}:00:00',r.choice(['login','export','update salary','update position'])))
db.commit(); db.close()
def under(x): return [k for k in par if par[k]==x]+[z for k in par if par[k]==x for z in under(k)]
tot=F(0); npp=0
for q_ in under(7):
    for p,fte in pos_people[q_]:
        tot+=fte*max(s for s in sal[p] if s[0]<=asof)[1]/100; npp+=1
T['C27']=money(tot); print('C27',npp)

# C28 taxi CSV
r=random.Random(28); zones=['Altmarkt','Bahnhof','Chapel Hill','Docklands','Eastgate','Flughafen','Gardens','Hafen','Infirmary','Jubilee Sq']; sp={z:r.uniform(19,24) for z in zones}; rows=[]; by=defaultdict(list)
for i in range(27000):
    z=r.choice(zones); d=date(2025,3,1)+timedelta(r.randint(0,30)); b=r.randint(0,1439); km=round(r.expovariate(1/6)+.2,2); v=max(5,r.gauss(sp[z],5)); mins=max(1,round(km/v*60)); 
    g=r.random()
    if g<.02: mins=0
    elif g<.04: km=round(km*40,1)
    e=(b+mins)%1440
    rows.append([i+1,d.isoformat() if r.random()<.7 else d.strftime('%m/%d/%Y'),f'{b//60:02d}:{b%60:02d}',f'{e//60:02d}:{e%60:02d}',r.choice([z,z,z.upper(),z+' ']),r.choice(zones),f'{km} km' if r.random()<.3 else f'{km/1.609344:.4f} mi' if r.random()<.1 else f'{km}',f'{3.5+1.9*km:.2f}',r.choice(['card','cash','app','card ']),r.choice(['0','1.5','2','',''])])
    s=rows[-1][6]; kk=float(s.split()[0])*(1.609344 if s.endswith('mi') else 1)
    if mins<1200 and mins>0 and kk>=1:
        vv=kk/mins*60
        if 1<=vv<=120: by[z].append(vv)
import statistics
with open('files/taxi_march.csv','w',newline='') as f:
    w=csv.writer(f); w.writerow(['ride','date','start','end','from_zone','to_zone','distance','fare','paid_by','tip']); w.writerows(rows)
med=sorted(((statistics.median(v),k,len(v)) for k,v in by.items()),reverse=True); T['C28']=f'{med[0][1]}'; print('C28',med[:3]); T['C28v']=f'{med[0][0]:.2f}'

# C29 tar.gz of logs
r=random.Random(29); L=defaultdict(list); n=0; t=datetime(2025,9,1,6,0,0)
for i in range(6000):
    t+=timedelta(milliseconds=r.randint(200,4000)); rid=f'{r.getrandbits(32):08x}'; stt=r.choices([200,200,200,402,500,404],[60,20,8,5,4,3])[0]; kind=r.choice(['buy','buy','browse'])
    stock=kind=='buy' and r.random()<.93; pay=stock and r.random()<.92
    L['gateway'].append((t,f'{t:%Y-%m-%d %H:%M:%S}.{t.microsecond//1000:03d} gw INFO  rid={rid} {"POST /order" if kind=="buy" else "GET /list"} -> {stt} {r.randint(20,900)}ms'))
    a=t+timedelta(milliseconds=r.randint(1,5)); L['auth'].append((a,f'[{a:%d/%b/%Y %H:%M:%S}] auth ok token for {rid} scope={kind}'))
    if stock:
        a=t+timedelta(milliseconds=r.randint(5,90)); L['stock'].append((a,json.dumps({'time':(a-timedelta(seconds=3.2)).isoformat(timespec='milliseconds'),'request':rid.upper(),'msg':'reserved' if r.random()<.97 else 'reserved (retry)','sku':r.randint(1,500)})))
    if pay:
        a=t+timedelta(milliseconds=r.randint(90,300)); L['pay'].append((a,f'{a.timestamp():.3f}|{rid}|{r.randint(100,9000)}|{"CAPTURED" if stt==200 else "DECLINED"}'))
        if r.random()<.02: L['pay'].append((a,f'{a.timestamp():.3f}|{rid}|0|RETRY'))
    n+= stock and not pay and stt==200
tf=tarfile.open('files/shop_logs.tar.gz','w:gz')
def addt(name,b):
    ti=tarfile.TarInfo(name); ti.size=len(b); ti.mtime=1756713600; tf.addfile(ti,io.BytesIO(b))
for k,v in L.items():
    v=[s for _,s in v]; m=len(v)//3
    addt(f'logs/{k}.log.2.gz',gzip.compress(('\n'.join(v[:m])+'\n').encode(),mtime=0)); addt(f'logs/{k}.log.1',('\n'.join(v[m:2*m])+'\n').encode()); addt(f'logs/{k}.log',('\n'.join(v[2*m:])+'\n').encode())
addt('logs/NOTES.txt',b'Rotated logs: .log is the newest, .log.1 older, .log.2.gz oldest. The clock of the stock server is 3.2 s slow. The stock server writes request ids in capitals.\n'); tf.close(); T['C29']=str(n)

# C30 mbox
from email.message import EmailMessage
from email.utils import format_datetime
r=random.Random(30); msgs=[]; roots=['Roof repair','Summer party','Minutes','Boiler','Parking spaces','Election of the board','Bike shed']; t=datetime(2025,1,6,9,0,tzinfo=timezone(timedelta(hours=1))); thr=Counter(); who=['Åsa Lind <asa@home.example>','Bernd Ott <bernd@home.example>','Chiara Neri <chiara@home.example>','Dov Katz <dov@home.example>','Eun-ji Park <eun@home.example>']
lst=[]
for i in range(150):
    t+=timedelta(minutes=r.randint(3,900)); mid=f'<{r.getrandbits(40):010x}@home.example>'
    if i<7: root=i; parent=None; sub=roots[i]
    elif r.random()<.06: root=len(thr)+0; parent=None; sub=r.choice(roots); root=max(thr)+1
    else:
        parent=r.choice(lst[-40:]); root=parent[1]; sub=('Re: ' if r.random()<.8 else 'AW: ')+parent[2].replace('Re: ','').replace('AW: ','')
        if r.random()<.06: sub=r.choice(roots)+f' (was: {sub})'
    thr[root]+=1; lst.append((mid,root,sub,parent))
    m=EmailMessage(); m['From']=r.choice(who); m['To']='list@home.example'; m['Subject']=sub; m['Date']=format_datetime(t); m['Message-ID']=mid
    if parent:
        m['In-Reply-To']=parent[0]; ch=[]; x=parent
        while x: ch.append(x[0]); x=x[3]
        if r.random()<.7: m['References']=' '.join(reversed(ch))
    body='Hello,\n'+' '.join(r.choice('we should really decide this soon or next week I think yes no the offer is too high please see below grüße'.split()) for _ in range(r.randint(10,60)))+'\nFrom my phone\n'
    m.set_content(body); msgs.append((t,m))
order=list(range(150)); r.shuffle(order)
with open('files/house_list.mbox','wb') as f:
    for i in order:
        t_,m=msgs[i]; f.write(f'From list@home.example {t_:%a %b %d %H:%M:%S %Y}\n'.encode()+m.as_bytes().replace(b'\nFrom my',b'\n>From my')+b'\n')
top=thr.most_common(2); print('C30',top); T['C30']=str(top[0][1])

# C31 tournament HTML
for seed in range(31,400):
    r=random.Random(seed); P=['Adaora Nwosu','Béla Kiss','Carmen Ruiz','Dmitri Volkov','Elif Demir','Frida Holm','Goran Babić','Hana Sato','Ivo Marek','Jules Petit','Kofi Mensah','Lucia Bianchi']; n=12; arr=list(range(n)); rounds=[]
    for rd in range(11):
        g=[(arr[i],arr[n-1-i]) if (rd+i)%2 else (arr[n-1-i],arr[i]) for i in range(6)]; rounds.append([(a,b,r.choices([1,.5,0],[4,3,3])[0]) for a,b in g]); arr=[arr[0]]+[arr[-1]]+arr[1:-1]
    pts=[0]*n
    for g in rounds:
        for a,b,x in g: pts[a]+=x; pts[b]+=1-x
    sb=[0]*n
    for g in rounds:
        for a,b,x in g: sb[a]+=x*pts[b]; sb[b]+=(1-x)*pts[a]
    o=sorted(range(n),key=lambda i:(-pts[i],-sb[i]))
    if pts[o[1]]==pts[o[2]]==pts[o[3]] and len({sb[i] for i in o[1:4]})==3: break
h=['<html><head><meta charset="utf-8"><title>Lakeside Open</title></head><body><h1>Lakeside Open, all-play-all</h1><p>Points: win 1, draw ½, loss 0. Tie-break: Sonneborn–Berger.</p>']
for k,g in enumerate(rounds,1):
    h.append(f'<h2>Round {k}</h2><table border=1><tr><th>White</th><th>Result</th><th>Black</th><th>Moves</th></tr>')
    for a,b,x in g: h.append(f'<tr><td>{P[a]}</td><td>{ {1:"1–0",.5:"½–½",0:"0–1"}[x] if not (x==1 and r.random()<.1) else "+ / − (forfeit)"}</td><td>{P[b]}</td><td>{r.randint(18,92)}</td></tr>')
    h.append('</table>'+('<p>Report: a lively round with a long fight on board two.</p>' if k%3==0 else ''))
open('files/lakeside_open.html','w',encoding='utf-8').write('\n'.join(h)+'</body></html>'); T['C31']=P[o[2]]; print('C31',seed,[(P[i],pts[i],sb[i]) for i in o[:5]])

# C32 geojson + csv
r=random.Random(32); feats=[]; pol=[]
for gx in range(6):
    for gy in range(5):
        cx,cy=16.30+gx*.01,48.10+gy*.008
        m=r.randint(5,11); ring=[]
        for k in range(m):
            a=2*math.pi*k/m; ra=r.uniform(.45,.95); ring.append([round(cx+.0048*ra*math.cos(a),6),round(cy+.0038*ra*math.sin(a),6)])
        ring.append(ring[0]); rings=[ring]
        if r.random()<.5: rings.append([[round(cx+.0012*math.cos(-a),6),round(cy+.0009*math.sin(-a),6)] for a in (0,1.5,3,4.5,0)]); rings[-1][-1]=rings[-1][0]
        ow=r.choice(['Council','Council','Church','private']); pol.append((ow,rings)); feats.append({'type':'Feature','properties':{'plot':f'{gx}-{gy}','owner':ow},'geometry':{'type':'Polygon','coordinates':rings}})
json.dump({'type':'FeatureCollection','features':feats},open('files/plots.geojson','w'))
def inring(x,y,R):
    c=False
    for (x1,y1),(x2,y2) in zip(R,R[1:]):
        if (y1>y)!=(y2>y) and x<(x2-x1)*(y-y1)/(y2-y1)+x1: c=not c
    return c
n=0
with open('files/trees.csv','w') as f:
    f.write('tree,species,lat,lon,trunk_cm\n')
    for i in range(5200):
        x,y=round(r.uniform(16.294,16.356),6),round(r.uniform(48.095,48.137),6); dcm=r.randint(8,120); f.write(f'T{i},{r.choice(["lime","oak","plane","birch"])},{y},{x},{dcm}\n')
        if dcm>60 and any(ow=='Council' and inring(x,y,R[0]) and not any(inring(x,y,q) for q in R[1:]) for ow,R in pol): n+=1
T['C32']=str(n)

# C33 XLSX with formulas, no stored values
r=random.Random(33); wb=openpyxl.Workbook(); a=wb.active; a.title='Staff'; a.append(['Name','Grade','Share','Start month','Yearly cost']); G={'G1':31200,'G2':38900,'G3':47350,'G4':61000}; names=['Ada','Ben','Cleo','Dan','Eve','Fay','Gil','Hal','Ida','Jan','Kay','Leo']; cost=[]
for i,nm in enumerate(names,2):
    g=r.choice(list(G)); sh=r.choice([1,.75,.5]); m=r.choice([1,1,1,4,7,10]); a.append([nm,g,sh,m,f'=ROUND(VLOOKUP(B{i},Grades!A2:B5,2,FALSE)*C{i}*(13-D{i})/12*(1+Rates!B2),2)']); cost.append((g,sh,m))
w=wb.create_sheet('Grades'); w.append(['Grade','Base'])
for k,v in G.items(): w.append([k,v])
w=wb.create_sheet('Rates'); w.append(['Name','Value']); w.append(['On-costs',.2175]); w.append(['Overhead',.18]); w.append(['Own share',.3]); w.append(['Cap on equipment',15000])
w=wb.create_sheet('Things'); w.append(['Item','Kind','Pieces','Price','Sum']); th=[]
for i in range(2,22):
    k=r.choice(['equipment','travel','material']); n_=r.randint(1,9); p=round(r.uniform(40,1900),2); w.append([f'item {i}',k,n_,p,f'=C{i}*D{i}']); th.append((k,n_,D(str(p))))
s=wb.create_sheet('Summary'); 
for row in [['Budget',None],['Staff','=SUM(Staff!E2:E13)'],['Equipment','=MIN(SUMIF(Things!B2:B21,"equipment",Things!E2:E21),Rates!B5)'],['Travel','=SUMIF(Things!B2:B21,"travel",Things!E2:E21)'],['Material','=SUMIF(Things!B2:B21,"material",Things!E2:E21)'],['Overhead','=ROUND((B2+B4+B5)*Rates!B3,2)'],['Total','=SUM(B2:B6)'],['Own share','=ROUND(IF(B7>400000,B7*Rates!B4,B7*Rates!B4/2),2)'],['Applied for','=B7-B8']]: s.append(row)
wb.save('files/grant_budget.xlsx')
q=lambda x: x.quantize(D('0.01'),ROUND_HALF_UP)
st_=sum(q(D(G[g])*D(str(sh))*(13-m)/12*D('1.2175')) for g,sh,m in cost); su={k:sum(n_*p for kk,n_,p in th if kk==k) for k in('equipment','travel','material')}
eq=min(su['equipment'],D(15000)); ov=q((st_+su['travel']+su['material'])*D('0.18')); to=st_+eq+su['travel']+su['material']+ov; own=q(to*D('0.3') if to>400000 else to*D('0.15')); T['C33']=str(q(to-own)); print('C33',to,su)

# C34 Morse WAV
r=random.Random(34); import numpy as np
M=dict(zip('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789','.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.. ----- .---- ..--- ...-- ....- ..... -.... --... ---.. ----.'.split()))
msg='VESSEL KESTREL BERTH 47 TIDE 3 6 METRES PILOT AT 0415'; fs=8000; u=.07; sig=[]
for w_ in msg.split(' '):
    for ch in w_:
        for e in M[ch]:
            L_=u*(1 if e=='.' else 3)*r.uniform(.88,1.12); sig.append((1,L_)); sig.append((0,u*r.uniform(.88,1.12)))
        sig.append((0,2*u*r.uniform(.9,1.1)))
    sig.append((0,4*u*r.uniform(.9,1.1)))
x=[np.zeros(int(.6*fs))]
for on,L_ in sig: x.append(on*np.ones(int(L_*fs)))
env=np.concatenate(x+[np.zeros(4000)]); rng=np.random.default_rng(34); tt=np.arange(len(env))/fs
sm=np.convolve(env,np.ones(40)/40,'same'); y=.45*sm*np.sin(2*np.pi*620*tt)*(1+.25*np.sin(2*np.pi*.3*tt))+rng.normal(0,.06,len(env))
with wave.open('files/harbour_radio.wav','wb') as wv:
    wv.setnchannels(1); wv.setsampwidth(2); wv.setframerate(fs); wv.writeframes((np.clip(y,-1,1)*32000).astype('<i2').tobytes())
T['C34']='47 0415'

# C35 XML bill of materials
r=random.Random(35); parts={f'B{i:03d}':sorted([(1,r.randint(50,900))]+[(k,0) for k in sorted(r.sample([100,500,1000,5000],2))]) for i in range(60)}
for k,v in parts.items():
    p=v[0][1]; nv=[]
    for q_,_ in v: nv.append((q_,p)); p=int(p*.88)
    parts[k]=nv
asm={}
def mk(level):
    nm=f'A{len(asm):03d}'; asm[nm]=None; kids=[]
    for _ in range(r.randint(3,6)):
        if level<3 and r.random()<.45: kids.append((mk(level+1) if r.random()<.75 or len(asm)<4 else r.choice([k for k in asm if asm[k]]or[mk(level+1)]),r.randint(1,4)))
        else: kids.append((r.choice(list(parts)),r.randint(1,12)))
    asm[nm]=kids; return nm
root=mk(0); scrap={k:r.choice([0,0,0,2,5]) for k in parts}
x=['<?xml version="1.0" encoding="UTF-8"?>','<bom product="Tandem loom TL-4" top="%s">'%root]
for k,v in sorted(asm.items(),key=lambda t:r.random()): x.append(f' <assembly id="{k}">'+''.join(f'<use ref="{c}" qty="{q_}"/>' for c,q_ in v)+'</assembly>')
for k,v in parts.items(): x.append(f' <part id="{k}" scrap_percent="{scrap[k]}"><name>{r.choice(["screw","washer","plate","bearing","spring","pin"])} {k}</name>'+''.join(f'<price from="{q_}">{p/100:.2f}</price>' for q_,p in v)+'</part>')
open('files/loom_bom.xml','w').write('\n'.join(x)+'\n</bom>\n')
need=Counter()
def ex(k,n_):
    for c,q_ in asm[k]:
        if c in asm: ex(c,n_*q_)
        else: need[c]+=n_*q_
ex(root,40); tot=0
for k,n_ in need.items():
    n2=-(-n_*(100+scrap[k])//100); tot+=n2*[p for q_,p in parts[k] if q_<=n2][-1]
T['C35']=f'{tot/100:.2f}'; print('C35',len(asm),sum(need.values()))

# C36 two config files
r=random.Random(36); prof={'base':(None,{'memory':'2048','tls':'off','zone':'north'})}; names_=['base']
for i in range(1,15):
    p=r.choice(names_); o={}
    if r.random()<.5: o['memory']=r.choice(['1024','4096','8192','4 GiB','6 GiB'])
    if r.random()<.5: o['tls']=r.choice(['on','off','ON','inherit'])
    if r.random()<.3: o['zone']=r.choice(['south','west'])
    prof[f'p{i:02d}']=(p,o); names_.append(f'p{i:02d}')
def eff(nm,extra=None):
    ch=[]; 
    while nm: ch.append(prof[nm][1]); nm=prof[nm][0]
    e={}
    for o in reversed(ch+[]): 
        for k,v in o.items():
            if v!='inherit': e[k]=v
    return e
x=['# profiles; "inherit" means: as in the profile it extends']; 
items_=list(prof.items()); r.shuffle(items_)
for k,(p,o) in items_: x+= [f'[{k}]']+([f'extends = {p}'] if p else [])+[f'{a} = {b}' for a,b in o.items()]+[r.choice(['','; checked 2025-02'])]
open('files/profiles.ini','w').write('\n'.join(x)+'\n'); n=0; x=['# hosts; a setting here beats the profile']
for i in range(130):
    p=r.choice(names_); o={}
    if r.random()<.2: o['tls']=r.choice(['on','Off','inherit'])
    if r.random()<.2: o['memory']=r.choice(['4096','512','4 GiB','3 GiB'])
    com=r.random()<.08; e=eff(p)
    for k,v in o.items():
        if v!='inherit': e[k]=v
    mem=int(e['memory'].split()[0])*(1024 if 'GiB' in e['memory'] else 1)
    if not com: n+= e['tls'].lower()=='on' and mem>=4096
    L_=[f'[host-{i:03d}]',f'profile = {p}']+[f'{a} = {b}' for a,b in o.items()]
    x+= ['# '+l for l in L_] if com else L_
open('files/hosts.ini','w').write('\n'.join(x)+'\n'); T['C36']=str(n)

# C37 survey
r=random.Random(37); W={1:['1','strongly disagree','Strongly Disagree','1 - strongly disagree'],2:['2','disagree','Disagree '],3:['3','neither','Neither','3 - neither'],4:['4','agree','AGREE'],5:['5','strongly agree','5 - strongly agree']}; rev={3,6}; X=[]; rows=[]
for i in range(640):
    th_=r.gauss(0,1); v=[min(5,max(1,round(3.2+.9*th_+r.gauss(0,.9)))) for _ in range(8)]; raw=[6-a if j+1 in rev else a for j,a in enumerate(v)]; cells=[r.choice(W[a]) for a in raw]; ok=True
    for j in range(8):
        if r.random()<.01: cells[j]=r.choice(['','n/a','6']); ok=False
    if ok: X.append(v)
    rows.append([1000+i,r.choice(['F','M','x','']),r.randint(18,80)]+cells+[r.choice(['','fine','too long, sorry','"ok"','the room was cold; otherwise good'])])
with open('files/course_survey.csv','w',newline='') as f:
    w=csv.writer(f,delimiter=';'); w.writerow(['id','sex','age']+[f'q{j}'+('r' if j in rev else '') for j in range(1,9)]+['comment']); w.writerows(rows)
v=[statistics.variance([x[j] for x in X]) for j in range(8)]; al=8/7*(1-sum(v)/statistics.variance([sum(x) for x in X])); T['C37']=f'{al:.3f}'; print('C37',al,len(X))

# C38 binary format
r=random.Random(38); buf=b'LGR2'+struct.pack('<HI',2,9000); tot=0; bad=0
for i in range(9000):
    dev=r.randint(1,40); ts=1750000000+i*37; val=r.randint(-40000,40000); fl=r.choice([0,0,0,1,2,4]); ext=struct.pack('<H',r.randint(0,999)) if fl&4 else b''
    body=struct.pack('<BIhB',dev,ts,max(-32768,min(32767,val)),fl)+ext; val=max(-32768,min(32767,val)); ck=sum(body)&255
    if r.random()<.02: ck^=r.randint(1,255); bad+=1; okk=False
    else: okk=True
    buf+=body+bytes([ck])
    if okk and dev==17 and not fl&2: tot+=val
z=zipfile.ZipFile('files/logger_dump.zip','w',zipfile.ZIP_DEFLATED); z.writestr(zipfile.ZipInfo('dump.bin',ZT),buf)
z.writestr(zipfile.ZipInfo('FORMAT.txt',ZT),'''Logger dump, version 2. All numbers little-endian.
Header: 4 bytes "LGR2", uint16 version, uint32 number of records.
Record: uint8 device, uint32 seconds since 1970, int16 value (hundredths of a degree), uint8 flags,
        if flag bit 2 (value 4) is set: uint16 battery in mV/10,
        uint8 checksum = sum of all bytes of the record before it, modulo 256.
Flags: bit 0 (1) = door open, bit 1 (2) = sensor fault (value meaningless), bit 2 (4) = battery field present.
Records whose checksum is wrong are to be ignored (their length is still right).
'''); z.close(); T['C38']=f'{tot/100:.2f}'

# C39 MT940
r=random.Random(39); bal=1284550; out=[]; wrong=r.randint(20,50); diff=None; d=date(2025,1,2); am_=lambda c: f'{c//100},{c%100:02d}'
for sidx in range(1,71):
    L_=[':20:STMT%04d'%sidx,':25:7711020099/4418',':28C:%05d/001'%sidx,f':60F:{"C" if bal>=0 else "D"}{d:%y%m%d}EUR{am_(abs(bal))}']
    for _ in range(r.randint(2,9)):
        a=r.randint(150,220000); cd=r.choice(['C','D','D','RC','RD']) if r.random()<.15 else r.choice(['C','D']); s=a*(1 if cd in('C','RD') else -1); bal+=s
        L_.append(f':61:{d:%y%m%d}{d:%m%d}{cd}{am_(a)}N{r.choice(["TRF","MSC","CHK"])}NONREF'); L_.append(f':86:{r.choice(["RENT","INVOICE "+str(r.randint(100,999)),"SALARY","CARD "+str(r.randint(10,99))+",40 EUR","REFUND"])}')
    shown=bal
    if sidx==wrong: diff=r.randint(1000,40000); shown=bal-diff; bal=shown
    L_.append(f':62F:{"C" if shown>=0 else "D"}{d:%y%m%d}EUR{am_(abs(shown))}'); L_.append('-'); out+=L_; d+=timedelta(r.choice([1,1,1,3]))
open('files/club_account.sta','w',newline='').write('\r\n'.join(out)+'\r\n'); T['C39']=f'{wrong}'; T['C39d']=f'{diff/100:.2f}'

# C40 novel
r=random.Random(40); sub=['The old ferryman','Aldous','Marguerite','Her brother','The clerk of the court','A boy from the mill','Nobody in the village','The widow Sorrel']; vb=['looked for','remembered','carried','hid','spoke of','drew','lost','asked after','dreamed of']; ob=['the lantern','a letter from the coast','the broken oar','the ledger','a blue coat','the keys of the chapel','Marguerite','Aldous','the price of salt']; tl=['before the rain came','as if it had been yesterday','without another word','on the road to Hallam','while the bells rang','and said nothing more','though the lanterns were all out','until the candles had burned down']
text=[]; n=0
for ch in range(1,61):
    miss=set(); 
    for w_,p in (('Aldous',.3),('Marguerite',.3),('lantern',.62)):
        if r.random()<p: miss.add(w_)
    par_=[]; 
    for _ in range(r.randint(14,26)):
        se=[]
        for _ in range(r.randint(3,9)):
            while True:
                q_=f'{r.choice(sub)} {r.choice(vb)} {r.choice(ob)} {r.choice(tl)}.'
                import re
                if not any(re.search(rf'\b{m}\b',q_) for m in miss): break
            se.append(q_)
        par_.append(' '.join(se))
    tx='\n\n'.join(par_); g=lambda w_: bool(re.search(rf'\b{w_}\b',tx)); n+= g('Aldous') and g('Marguerite') and not g('lantern')
    import textwrap
    text.append(f'CHAPTER {ch}\n\n'+'\n\n'.join(textwrap.fill(p,72) for p in par_))
open('files/salt_road.txt','w').write('THE SALT ROAD\nA tale in sixty chapters\n\n'+'\n\n\n'.join(text)+'\n'); T['C40']=str(n)
