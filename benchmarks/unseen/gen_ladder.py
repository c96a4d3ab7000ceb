"""Files of set 1, fixed seeds. Truth that the generator knows from the clean data goes to truth_ladder.json."""
import random, csv, json, io, os, zipfile, sqlite3, base64, math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal as D, ROUND_HALF_UP
os.chdir(os.path.dirname(os.path.abspath(__file__)))
T={}
c2=lambda x: str(D(x).quantize(D('0.01'),ROUND_HALF_UP))

# L25 household expenses, small CSV
r=random.Random(25); rows=[]; tot=0
cats={'groceries':['Weekly shop','Market stall','Bakery','Milk and eggs','Corner shop'],'transport':['Bus ticket','Fuel','Bike repair'],'household':['Light bulbs','Detergent','Drill bits'],'eating out':['Pizza','Coffee with Ana','Canteen'],'health':['Pharmacy','Dentist']}
d=date(2024,9,1)
for i in range(64):
    d+=timedelta(r.choice([0,0,1,1,2])); k=r.choice(list(cats)+['groceries']*2); a=r.randint(180,9800)
    if k=='groceries': tot+=a
    rows.append([d.isoformat(), r.choice([k,k,k,k.capitalize(),k.upper(),' '+k,k+' ']), r.choice(cats[k]), f'{a/100:.2f}'])
with open('files/household_autumn.csv','w',newline='') as f:
    w=csv.writer(f); w.writerow(['date','category','what','amount_eur']); w.writerows(rows)
T['L25']=f'{tot/100:.2f}'

# L26 mail with attached CSV
from email.message import EmailMessage
r=random.Random(26); rows=[]; t=0
prods=['carrots','leeks','apples','potatoes','chard','onions','pumpkins']
for day in ['Mon','Tue','Wed','Thu','Fri']:
    for p in r.sample(prods,r.randint(3,6)):
        n=r.randint(2,24); rows.append([day,p,r.choice(['North depot','School kitchen','Market hall']),n])
        if day=='Thu': t+=n
r.shuffle(rows)
b=io.StringIO(); w=csv.writer(b); w.writerow(['day','product','drop_off','crates']); w.writerows(rows)
m=EmailMessage(); m['From']='Ines Okafor <ines@hollybank-farm.example>'; m['To']='Depot <depot@hollybank-farm.example>'; m['Subject']='Delivery plan, week 41 =?utf-8?q?=E2=80=93?= final'; m['Date']='Fri, 03 Oct 2025 16:12:44 +0100'; m['Message-ID']='<4411.ines@hollybank-farm.example>'
m.set_content('Hi all,\n\nhere is the final plan for next week, the numbers of crates are in the attachment. Please ignore the draft of Wednesday.\nOn Thursday the van leaves at 06:15, not 06:45.\n\nInes\n')
m.add_alternative('<p>Hi all,</p><p>here is the <b>final</b> plan for next week, the numbers of crates are in the attachment. Please ignore the draft of Wednesday.<br>On Thursday the van leaves at 06:15, not 06:45.</p><p>Ines</p>',subtype='html')
m.add_attachment(b.getvalue().encode(),maintype='text',subtype='csv',filename='plan_week41.csv')
m.set_boundary('=-farm-4411'); 
for i,p in enumerate(m.walk()):
    if p.is_multipart(): p.set_boundary(f'=-farm-44{i}')
open('files/delivery_plan.eml','wb').write(m.as_bytes()); T['L26']=str(t)

# L27 DOCX minutes with actions table
import docx
r=random.Random(27); d=docx.Document(); d.add_heading('Minutes of the Allotment Association, 12 May 2025',1)
for p in ['Present: Petra Lind, Omar Haddad, Siobhan Walsh, Piotr Nowak, Lena Brandt, and eleven members. Apologies: Rosa Diaz.','1. The minutes of April were approved with one correction: the water bill was 412.60, not 421.60.','2. Petra Lind reported on the gate. The lock is still broken; see the table of actions below.','3. Omar Haddad presented the plan for the compost area. Vote: 12 in favour, 3 against, 1 abstention.']: d.add_paragraph(p)
d.add_heading('Actions',2); tb=d.add_table(rows=1,cols=5); tb.style='Table Grid'
for c,h in zip(tb.rows[0].cells,['No.','Action','Owner','Due','Status']): c.text=h
own=['Petra Lind','Omar Haddad','Siobhan Walsh','Piotr Nowak','Lena Brandt']; acts=['Repair the gate lock','Order gravel','Write to the council','Collect rents','Paint the shed','Check the pump','Update waiting list','Borrow a shredder','Measure plot','Fix the notice board','Renew insurance','Invite the beekeeper']
n=0
for i in range(34):
    o=r.choice(own); s=r.choice(['open','open','done','Open','in progress','done'])
    cells=tb.add_row().cells
    for c,v in zip(cells,[str(i+1),r.choice(acts)+(f' {r.randint(1,40)}' if r.random()<.3 else ''),o,(date(2025,5,14)+timedelta(r.randint(0,60))).strftime('%d %b %Y'),s]): c.text=v
    if o=='Petra Lind' and s!='done': n+=1
d.add_paragraph('Next meeting: 9 June 2025, 19:30, club hut.')
d.save('files/minutes_may.docx'); T['L27']=str(n)

# L28 XLSX monthly sales
import openpyxl
r=random.Random(28); wb=openpyxl.Workbook(); ws=wb.active; ws.title='Read me'
ws['A1']='Units sold per branch and product. Prices are on the sheet Prices; a price holds from the first day of the month given until the next change.'
br=['Eskdale','Thornby','Marlow Cross','Quayside','Upper Venn']; pr=['Kettle','Toaster','Blender','Grill','Scale']; mon=['Jan','Feb','Mar','Apr','May','Jun']
price={}; plist=[]
for p in pr:
    x=D(r.randint(1500,9000))/100; chg=sorted(r.sample(range(1,6),2)); plist.append((p,0,x)); 
    for m in range(6):
        if m in chg: x=(x*D(r.choice(['1.05','1.1','0.9','0.95']))).quantize(D('0.01')); plist.append((p,m,x))
        price[p,m]=x
tot={b:D(0) for b in br}
for m,name in enumerate(mon):
    w=wb.create_sheet(name); w['A1']=f'Sales {name} 2025'; order=br[:]; r.shuffle(order); pp=pr[:]; r.shuffle(pp)
    w.append([]); w.append(['Branch']+pp+['Remarks'])
    for b in order:
        row=[b if r.random()<.8 else b.upper()]
        for p in pp:
            u=r.randint(0,80)
            if r.random()<.08: row.append(None if r.random()<.5 else '-')
            else: row.append(u); tot[b]+=u*price[p,m]
        row.append(r.choice(['','','closed 2 days','stocktaking'])); w.append(row)
    w.append(['Total']+[f'=SUM({"BCDEF"[i]}4:{"BCDEF"[i]}8)' for i in range(5)])
w=wb.create_sheet('Prices'); w.append(['Product','Valid from','Price EUR'])
for p,m,x in sorted(plist,key=lambda t:(t[1],t[0])): w.append([p,f'{mon[m]} 2025',float(x)])
wb.save('files/branch_sales.xlsx'); T['L28']=c2(tot['Marlow Cross'])

# L29 JSON orders
r=random.Random(29); orders=[]; net=0
for i in range(420):
    items=[{'sku':f'SK-{r.randint(100,160)}','qty':r.randint(1,5),'unit_price_cents':r.randint(199,8999)} for _ in range(r.randint(1,5))]
    g=sum(x['qty']*x['unit_price_cents'] for x in items)
    o={'id':f'A{10000+i}','placed':(datetime(2025,2,1)+timedelta(minutes=r.randint(0,59*24*60))).isoformat()+'Z','customer':{'name':r.choice(['M. Sato','J. Ruiz','K. Novak','L. Berg','A. Diallo']),'address':{'country':r.choice(['AT','AT','DE','CH','IT'])}},'status':r.choice(['delivered']*5+['cancelled','returned','shipped']),'items':items}
    if r.random()<.25: o['voucher']={'type':'fixed','cents':r.choice([500,1000])}
    ref=[]
    if r.random()<.2: ref=[{'cents':r.randint(100,max(101,g//3)),'reason':r.choice(['damaged','late','goodwill'])} for _ in range(r.randint(1,2))]; o['refunds']=ref
    elif r.random()<.2: o['refunds']=None
    if o['status']=='delivered' and o['customer']['address']['country']=='AT':
        net+=g-min(g,o.get('voucher',{}).get('cents',0))-sum(x['cents'] for x in ref)
    orders.append(o)
json.dump({'exported':'2025-04-02T06:00:00Z','orders':orders},open('files/webshop_orders.json','w'),indent=1); T['L29']=f'{net/100:.2f}'

# L30 ZIP of 12 monthly temperature files
r=random.Random(30); z=zipfile.ZipFile('files/weather_hut_2024.zip','w',zipfile.ZIP_DEFLATED); best=None
for m in range(1,13):
    semi=m in(5,7,11); L=['time;temp_c;wind' if semi else 'time,temp_c,wind']; d=date(2024,m,1)
    while d.month==m:
        base=4+14*math.sin((d.timetuple().tm_yday-110)/366*2*math.pi)+r.gauss(0,2.5); vals=[]; bad=r.random()<.05
        for h in range(24):
            v=round(base+5*math.sin((h-9)/24*2*math.pi)+r.gauss(0,.6),1); q=r.random()
            if q<(.4 if bad else .02): s=r.choice(['-999','n/a',''])
            else: vals.append(v); s=str(v)
            if bad and q>=.4 and h>8: 
                pass
            wnd=f'{abs(r.gauss(4,2)):.1f}'
            L.append((f'{d:%d.%m.%Y} {h:02d}:00;{s};{wnd}').replace('.',',') if False else (f'{d:%Y-%m-%d} {h:02d}:00;{s.replace(".",",") if s!="n/a" else s};{wnd.replace(".",",")}' if semi else f'{d:%Y-%m-%d} {h:02d}:00,{s},{wnd}'))
        if len(vals)>=20:
            mean=sum(vals)/len(vals)
            if best is None or mean>best[0]: second=best; best=(mean,d)
        d+=timedelta(1)
    z.writestr(zipfile.ZipInfo(f'hut/2024-{m:02d}.csv',(2025,1,2,8,0,0)),'\n'.join(L)+'\n')
z.writestr(zipfile.ZipInfo('hut/README.txt',(2025,1,2,8,0,0)),'Hourly readings of the hut, local winter time all year. -999, n/a or empty: no reading. In some months the logger wrote semicolons and decimal commas.\n'); z.close()
T['L30']=best[1].isoformat()

# L31 PDF bank statement
from reportlab.pdfgen import canvas
from reportlab.lib.pagesizes import A4
r=random.Random(31); c=canvas.Canvas('files/statement_2025Q1.pdf',pagesize=A4,invariant=1); y=0; page=0; fee=0; bal=412055
def head():
    global y,page; page+=1; c.setFont('Helvetica-Bold',12); c.drawString(50,800,'Northmoor Savings Bank - Statement of account 0047-118822'); c.setFont('Courier',9); c.drawString(50,782,f'1 January 2025 to 31 March 2025      page {page}'); c.drawString(50,764,'Date        Description                                   Amount      Balance'); y=748
head(); d=date(2025,1,1)
while True:
    d+=timedelta(r.choice([0,0,0,1,1]))
    if d>date(2025,3,31): break
    k=r.choice(['Card payment','Card payment','Transfer to','Direct debit','Service fee','Transfer from','Cash withdrawal','Foreign exchange fee'])
    a={'Service fee':r.randint(50,950),'Foreign exchange fee':r.randint(20,600)}.get(k,r.randint(300,22000))
    if k in('Service fee','Foreign exchange fee'): fee+=a
    desc=k+('' if 'fee' in k else ' '+r.choice(['Oakes Garage','City Water','B. Lindqvist','Rialto Cinema','Feeney & Sons','Green Grocer','Coffee Point','ATM Station Sq']))
    if k=='Service fee' and r.random()<.25: # reversed fee
        desc='Service fee reversed'; fee-=2*a; a=-a
    s=a if k=='Transfer from' else -a; bal+=s
    c.drawString(50,y,f'{d:%d.%m.%Y}  {desc:<40}{s/100:>12,.2f}{bal/100:>13,.2f}'); y-=13
    if y<60: c.drawString(50,40,'Carried forward'); c.showPage(); head()
c.save(); T['L31']=f'{fee/100:.2f}'

# L32 HTML staff table with rowspans
r=random.Random(32); deps=['Archives','Loans desk','Restoration','Facilities','Education']; h=0; out=[]
names=['Abel','Bianca','Carlos','Dunja','Edgar','Fatima','Gwen','Hugo','Irina','Jonas','Kemal','Lotte','Mirko','Nadia','Otis','Paula','Quentin','Rania','Sven','Tilda','Umar','Vera','Wim','Yara','Zeno']; r.shuffle(names); k=0
for dep in deps:
    n=r.choice([4,5,6]); n=min(n,25-k); 
    for i in range(n):
        hrs=r.choice([12,19.5,20,25,30,38.5,38.5]); 
        if dep=='Restoration': h+=hrs
        out.append('<tr>'+(f'<td rowspan="{n}">{dep}</td>' if i==0 else '')+f'<td>{names[k]} {r.choice(["Mertens","Aalto","Koch","Silva","Byrne"])}</td><td>room {r.randint(1,4)}.{r.randint(10,40)}</td><td class="h">{str(hrs).replace(".",",")}&nbsp;h</td><td>{r.choice(["permanent","until 2026","trainee"])}</td></tr>'); k+=1
open('files/staff_list.html','w').write('<!DOCTYPE html><html><head><meta charset="utf-8"><title>Staff of the Wexcombe Collections</title><style>td{padding:2px 8px}</style></head><body><h1>Staff</h1><p>Weekly hours per person. Print version.</p>\n<table border=1>\n<tr><th>Department</th><th>Name</th><th>Room</th><th>Hours/week</th><th>Contract</th></tr>\n'+'\n'.join(out)+'\n</table><p>Total may include people who work for two departments.</p></body></html>'); T['L32']=f'{h:g}'

# L33 access log
r=random.Random(33); ips=[f'{r.randint(11,220)}.{r.randint(0,255)}.{r.randint(0,255)}.{r.randint(1,254)}' for _ in range(140)]; paths=['/','/login','/shop','/shop/item?id=%d','/img/logo.png','/wp-admin','/api/v1/stock','/old/page%d.html']; t=datetime(2025,6,17,22,0,0); L=[]; from collections import Counter; cnt=Counter(); al=Counter()
w=[1/(i+1)**.7 for i in range(140)]
while t<datetime(2025,6,18,9,0,0):
    t+=timedelta(seconds=r.expovariate(1/5.2)); ip=r.choices(ips,w)[0]; p=r.choice(paths); p=p%r.randint(1,300) if '%d' in p else p
    st=404 if 'old' in p or 'wp' in p and r.random()<.8 else r.choice([200]*9+[304,500,301]) 
    if 2<=t.hour<5 and t.day==18 and ip==ips[37]: pass
    if 2<=t.hour<5 and t.day==18 and r.random()<.10: ip,st,p=ips[61],404,'/old/page%d.html'%r.randint(1,999)
    tz='+0200'
    L.append(f'{ip} - - [{t:%d/%b/%Y:%H:%M:%S} {tz}] "{r.choice(["GET","GET","GET","POST"])} {p} HTTP/1.1" {st} {r.randint(180,60000) if st==200 else r.randint(0,700)} "-" "{r.choice(["Mozilla/5.0 (X11; Linux x86_64)","curl/8.4.0","Mozilla/5.0 (iPhone; CPU iPhone OS 17_5)","bot/2.1 404 checker"])}"')
    if st==404:
        al[ip]+=1
        if datetime(2025,6,18,2)<=t.replace(microsecond=0)<datetime(2025,6,18,5): cnt[ip]+=1
open('files/access.log','w').write('\n'.join(L)+'\n'); (a,n),(b,n2)=cnt.most_common(2); assert n>n2; T['L33']=str(n); print('L33',cnt.most_common(3),al.most_common(3))

# L34 SQLite library
r=random.Random(34); fn='files/village_library.sqlite'; 
if os.path.exists(fn): os.remove(fn)
db=sqlite3.connect(fn); db.executescript('create table member(id integer primary key,name text,category text,joined text);create table book(id integer primary key,title text,kind text);create table loan(id integer primary key,member_id int,book_id int,out_date text,back_date text);')
adj=['Silent','Red','Last','Golden','Broken','Winter']; nn=['River','Garden','Letter','Harbour','Clock','Mountain']
for i in range(1,181): db.execute('insert into member values(?,?,?,?)',(i,f'{r.choice("ABCDEFGHJKLM")}. {r.choice(["Holm","Petrov","Vane","Osei","Marsh","Tanaka","Quill"])}',r.choice(['adult','adult','child','senior']),f'20{r.randint(10,24)}-0{r.randint(1,9)}-1{r.randint(0,9)}'))
for i in range(1,701): db.execute('insert into book values(?,?,?)',(i,f'The {r.choice(adj)} {r.choice(nn)}',r.choice(['book','book','book','dvd'])))
cat={i:c for i,c in db.execute('select id,category from member')}; kind={i:k for i,k in db.execute('select id,kind from book')}
asof=date(2025,3,31); fines=0
for i in range(1,3201):
    m=r.randint(1,180); b=r.randint(1,700); o=date(2024,1,5)+timedelta(r.randint(0,440)); k=r.choice([r.randint(1,20),r.randint(1,30),r.randint(20,70)]); bk=o+timedelta(k); bk=None if bk>asof else bk
    db.execute('insert into loan values(?,?,?,?,?)',(i,m,b,o.isoformat(),bk and bk.isoformat()))
    late=((bk or asof)-o).days-(7 if kind[b]=='dvd' else 21)
    if late>0 and cat[m]!='child': fines+=min(1000,20*late)
db.commit(); db.close(); T['L34']=f'{fines/100:.2f}'

# L35 ICS
r=random.Random(35); ev=[]; mins=0
def add(s,b,e,extra=''):
    ev.append(f'BEGIN:VEVENT\r\nUID:{len(ev)}@cal.example\r\nDTSTART;TZID=Europe/Vienna:{b:%Y%m%dT%H%M%S}\r\nDTEND;TZID=Europe/Vienna:{e:%Y%m%dT%H%M%S}\r\nSUMMARY:{s}\r\n{extra}END:VEVENT')
b=datetime(2025,9,2,8,30); add('Physio Dr. Klein',b,b+timedelta(minutes=50),'RRULE:FREQ=WEEKLY;BYDAY=TU;UNTIL=20251028T225959Z\r\nEXDATE;TZID=Europe/Vienna:20251014T083000\r\n')
d=b
while d<=datetime(2025,10,28,23): 
    if d.month==10 and d.day!=14: mins+=50
    d+=timedelta(7)
b=datetime(2025,10,2,17,0); add('Physio group',b,b+timedelta(minutes=75),'RRULE:FREQ=DAILY;INTERVAL=9;COUNT=5\r\n')
for i in range(5):
    if (b+timedelta(9*i)).month==10: mins+=75
for i in range(40):
    b=datetime(2025,9,20)+timedelta(days=r.randint(0,60),hours=r.randint(8,18),minutes=r.choice([0,15,30,45])); L=r.choice([20,30,45,60,90]); s=r.choice(['Dentist','Lunch with Mara','Team call','Physio extra','School evening','Physiology lecture','Haircut']); canc=r.random()<.25
    add(s,b,b+timedelta(minutes=L),'STATUS:CANCELLED\r\n' if canc else r.choice(['','STATUS:CONFIRMED\r\n','LOCATION:Linz\r\n']))
    if s=='Physio extra' and not canc and b.month==10: mins+=L
open('files/family.ics','w',newline='').write('BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Kitchen Calendar//EN\r\n'+'\r\n'.join(ev)+'\r\nEND:VCALENDAR\r\n'); T['L35']=str(mins)

# L36 big messy CSV
r=random.Random(36); rate={'EUR':D(1),'USD':D('0.92'),'GBP':D('1.17'),'CHF':D('1.05')}; rows=[]; tot=D(0)
for i in range(26000):
    d=date(2024,1,1)+timedelta(r.randint(0,365)); cur=r.choice(['EUR','EUR','USD','GBP','CHF']); ty=r.choice(['SALE']*7+['REFUND','FEE','refund']); a=r.randint(100,450000)
    if cur=='EUR': s=f'{a//100:,}'.replace(',','.')+f',{a%100:02d}'
    else: s=f'{a//100:,}.{a%100:02d}'
    ds=r.choice([d.isoformat(),f'{d:%d.%m.%Y}',f'{d.day} {d:%b %Y}']); row=[f'TX{700000+i}',ds,ty,r.choice(['web','shop 1','shop 2','phone']),cur,s,r.choice(['','','gift, wrapped','ask "Tom"','second try'])]
    rows.append(row)
    if ty.upper()=='REFUND' and date(2024,4,1)<=d<=date(2024,6,30): tot+=D(a)/100*rate[cur]
    if r.random()<.03: rows.append(row[:6]+[r.choice(['','resent'])])
    if r.random()<.5: 
        j=r.randrange(max(0,len(rows)-50),len(rows)); rows[j],rows[-1]=rows[-1],rows[j]
with open('files/payments_2024.csv','w',newline='',encoding='utf-8') as f:
    w=csv.writer(f); w.writerow(['id','booked','type','channel','currency','amount','note']); w.writerows(rows)
T['L36']=c2(tot)

# L37 XLSX payroll
r=random.Random(373); wb=openpyxl.Workbook(); ws=wb.active; ws.title='People'; ws.append(['Emp no','Name','Team','Left on']); emp=[]
for i in range(36):
    e=f'E{200+i}'; t=r.choice(['Packing','Drivers','Office']); emp.append((e,t)); ws.append([e,f'{r.choice(["Ana","Bo","Cem","Dora","Eli","Finn"])} {r.choice(["Roth","Lund","Kaya","Moss"])}',t,None])
wr=wb.create_sheet('Rates'); wr.append(['Emp no','From','Hourly rate']); rates={}
for e,t in emp:
    x=r.randint(1250,2400); rates[e]=[(date(2024,1,1),x)]; 
    if r.random()<.6: rates[e].append((date(2025,3,1)+timedelta(7*r.randint(0,8)+2),x+r.randint(30,200)))
allr=[(e,d,x) for e in rates for d,x in rates[e]]; r.shuffle(allr)
for e,d,x in allr: wr.append([e,d,x/100])
wt=wb.create_sheet('Hours'); wt.append(['Date','Emp no','Hours']); H=[]; 
for e,t in emp:
    d=date(2025,3,3)
    while d<=date(2025,5,4):
        if d.weekday()<5 and r.random()<.92 or d.weekday()==5 and r.random()<.2: H.append((d,e,r.choice([6,7,7.5,8,8,8.5,9,10,11])))
        d+=timedelta(1)
r.shuffle(H)
from collections import defaultdict
wk=defaultdict(list)
for d,e,h in H:
    wt.append([d if r.random()<.9 else d.strftime('%d/%m/%Y'), e if r.random()<.9 else e.lower(), h if r.random()<.9 else str(h).replace('.',',')]); wk[e,d.isocalendar()[:2]].append((d,h))
pay=D(0); team=dict(emp)
for (e,k),v in wk.items():
    if team[e]!='Packing': continue
    done=0
    for d,h in sorted(v):
        rt=D([x for f,x in rates[e] if f<=d][-1])/100
        normal=max(0,min(h,40-done)); over=h-normal; done+=h
        pay+=rt*D(str(normal))+rt*D('1.5')*D(str(over))
wb.save('files/packing_payroll.xlsx'); T['L37']=c2(pay)

# L38 chat export
r=random.Random(38); who=['Noor','Tomás','Evelyn','Gus','Priya 🌻']; t=datetime(2025,1,3,8,0); L=[]; prev=None; n=0; words='ok sure maybe tomorrow the boat is late bring ropes and tea who has the key weather looks fine see you at ten no wind today sail repair done thanks'.split()
for i in range(5200):
    t+=timedelta(minutes=int(r.expovariate(1/9))+ (r.randint(200,700) if r.random()<.04 else 0)); w=r.choice(who); 
    tx=' '.join(r.choice(words) for _ in range(r.randint(1,14)))
    if r.random()<.12: tx+='\n'+' '.join(r.choice(words) for _ in range(r.randint(1,6)))
    if r.random()<.03: tx+='\nGus: '+r.choice(words)
    if r.random()<.05: tx='<Media omitted>'
    if r.random()<.01: L.append(f'{t:%d/%m/%Y, %H:%M} - {w} changed the group description')
    L.append(f'{t:%d/%m/%Y, %H:%M} - {w}: {tx}')
    if prev and prev[0]=='Evelyn' and w=='Gus' and (t-prev[1])<=timedelta(minutes=5): n+=1
    prev=(w,t)
open('files/chat_sailing.txt','w',encoding='utf-8').write('\n'.join(L)+'\n'); T['L38']=str(n)

# L39 GPX
r=random.Random(39); lat,lon=47.21,11.37; t=datetime(2025,8,9,6,2,0); pts=[]; good=[]; hd=0.8; v=1.4
def hav(a,b):
    p,q=math.radians(a[0]),math.radians(b[0]); h=math.sin((q-p)/2)**2+math.cos(p)*math.cos(q)*math.sin(math.radians(b[1]-a[1])/2)**2; return 2*6371000*math.asin(math.sqrt(h))
for i in range(3400):
    dt=r.choice([4,5,5,5,6,7]); t+=timedelta(seconds=dt); hd+=r.gauss(0,.18); v=max(0,min(4,v+r.gauss(0,.2)))
    if r.random()<.01: v=0
    lat+=v*dt*math.cos(hd)/111195; lon+=v*dt*math.sin(hd)/(111195*math.cos(math.radians(lat)))
    P=(round(lat,6),round(lon,6))
    if r.random()<.012: G=(round(lat+r.choice([-1,1])*r.uniform(.004,.02),6),round(lon+r.uniform(-.01,.01),6)); pts.append((G,t))
    else: pts.append((P,t)); good.append(P)
dist=sum(hav(a,b) for a,b in zip(good,good[1:]))
open('files/ridge_walk.gpx','w').write('<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="WristLog" xmlns="http://www.topografix.com/GPX/1/1">\n<trk><name>Ridge walk</name><trkseg>\n'+'\n'.join(f'<trkpt lat="{p[0]}" lon="{p[1]}"><ele>{1200+i*.2:.1f}</ele><time>{q:%Y-%m-%dT%H:%M:%SZ}</time></trkpt>' for i,(p,q) in enumerate(pts))+'\n</trkseg></trk></gpx>\n'); T['L39']=f'{dist/1000:.3f}'

# L40 fixed width with overpunched sign
r=random.Random(40); pos='{ABCDEFGHI'; neg='}JKLMNOPQR'; L=[]; tot=0; n=0
for i in range(4200):
    reg=f'{r.randint(1,12):02d}'; a=r.randint(0,9999999); s=-1 if r.random()<.22 else 1; d=date(2023,1,1)+timedelta(r.randint(0,730)); st=r.choice('AAAAVP')
    f=f'{a:09d}'; f=f[:-1]+(pos if s>0 else neg)[int(f[-1])]
    name=r.choice(['MUELLER GMBH','O HARA LTD','SOC. RIVA','07 IMPORTS','BJORK AB','DELTA-V']).ljust(20)
    L.append(f'D{100000+i:08d}{d:%y%m%d}{reg}{name}{f}{st}')
    if reg=='07' and st!='V' and d.year==2024: tot+=s*a; n+=1
L.insert(0,'H'+'INVOICE EXTRACT'.ljust(38)+'250107'+'  '); L.append(f'T{4200:08d}'+' '*38)
open('files/invoices.dat','w').write('\n'.join(L)+'\n'); T['L40']=f'{tot/100:.2f}'
json.dump(T,open('truth_ladder.json','w'),indent=1); print(T)
