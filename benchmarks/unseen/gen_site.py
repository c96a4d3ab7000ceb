"""Static site of three made-up organisations under site/, fixed seed."""
import os, random, json, csv, io, shutil
from datetime import date, timedelta
from collections import Counter
os.chdir(os.path.dirname(os.path.abspath(__file__))); shutil.rmtree('site',ignore_errors=True)
for d in('kvt','museums','ils'): os.makedirs('site/'+d)
T={}; NP=0
def page(fn,title,body,nav):
    global NP; NP+=1; os.makedirs(os.path.dirname('site/'+fn) or 'site',exist_ok=True)
    open('site/'+fn,'w',encoding='utf-8').write(f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>body{{font-family:sans-serif;max-width:60em;margin:auto}}td,th{{padding:2px 8px;text-align:left}}nav a{{margin-right:1em}}</style></head><body>\n<nav>{nav}</nav>\n<h1>{title}</h1>\n{body}\n<footer><small>Last change of this page: see the imprint. <a href="{"index.html" if "/" not in fn else "../index.html"}">Regional portal</a></small></footer></body></html>\n')
tab=lambda h,rows:'<table border="1"><tr>'+''.join(f'<th>{x}</th>' for x in h)+'</tr>\n'+'\n'.join('<tr>'+''.join(f'<td>{x}</td>' for x in r)+'</tr>' for r in rows)+'</table>'
page('index.html','Harrowmere & Kestrel Valley: public bodies','<ul><li><a href="kvt/index.html">Kestrel Valley Transit</a></li><li><a href="museums/index.html">Harrowmere Museums Trust</a></li><li><a href="ils/index.html">Institute for Lake Studies</a></li></ul>','')
from reportlab.pdfgen import canvas
def pdf(fn,lines):
    c=canvas.Canvas('site/'+fn,invariant=1); y=790
    for l in lines:
        c.setFont('Helvetica',11); c.drawString(60,y,l); y-=17
        if y<60: c.showPage(); y=790
    c.save()

# ---------- Kestrel Valley Transit
r=random.Random(501); nav='<a href="index.html">KVT</a><a href="routes.html">Routes</a><a href="fares.html">Fares</a><a href="notices-1.html">Notices</a>'
stops=['Aldersyke','Bramhope Cross','Castle Green','Dunmere Mill','Eller Bridge','Fosse Lane','Gill Head','Hollin Park','Ings Station','Jackdaw Hill','Keld Hospital','Low Wath','Moor Gate','Nidd Quay','Oxenrake','Penny Well','Quarry Road','Ravensty']
routes={1:[0,2,8,10,13],2:[1,2,3,11,17],3:[4,5,8,6,15],4:[7,8,9,12],5:[10,11,14,16],6:[0,4,7,14],7:[3,9,13,16],8:[5,12,15,17,6]}
TT={}
def hm(m): return f'{m//60:02d}:{m%60:02d}'
for n,st in routes.items():
    for day,head,first,last in(('Monday to Friday',r.choice([20,25,30]),330,1320),('Saturday',r.choice([35,45,60]),390,1260),('Sunday',r.choice([60,90]),480,1140)):
        for dirn in(0,1):
            s=st if dirn==0 else st[::-1]; legs=[r.randint(5,14) for _ in s[1:]]; t=first+r.randint(0,25); tr=[]
            while t<last:
                x=[t]; 
                for l in legs: x.append(x[-1]+l)
                tr.append(x); t+=head+r.choice([0,0,0,5,-3])
            TT[n,day,dirn]=(s,tr)
    b=f'<p>Stops: {" – ".join(stops[i] for i in st)} and back.</p>'
    for day in('Monday to Friday','Saturday','Sunday'):
        for dirn in(0,1):
            s,tr=TT[n,day,dirn]; b+=f'<h3>{day}: {stops[s[0]]} to {stops[s[-1]]}</h3>'+'<table border="1" class="timetable">'+''.join(f'<tr><th>{stops[x]}</th>'+''.join(f'<td>{hm(q[k])}</td>' for q in tr)+'</tr>' for k,x in enumerate(s))+'</table>'
    page(f'kvt/route-{n}.html',f'Route {n}',b+'<p><a href="routes.html">All routes</a></p>',nav)
page('kvt/index.html','Kestrel Valley Transit','<p>Buses for the whole valley. See the <a href="routes.html">routes</a>, the <a href="fares.html">fares</a> and the <a href="notices-1.html">notices</a>. Allow 3 minutes for every change of bus.</p>',nav)
page('kvt/routes.html','Routes','<ul>'+''.join(f'<li><a href="route-{n}.html">Route {n}</a>: {stops[s[0]]} – {stops[s[-1]]}</li>' for n,s in routes.items())+'</ul>',nav)
0 and page('kvt/about.html','About KVT','<p>KVT is owned by the nine parishes of the valley. 64 buses, 131 drivers.</p><p>Lost property: open on Tuesdays and Fridays, 10:00 to 13:00.</p>',nav)
# fares
zone={s:r.randint(1,5) for s in stops}; cr={1:(210,1150,4200),2:(290,1600,5650),3:(365,2010,7000),4:(430,2390,8150),5:(480,2700,8990)}
with open('site/kvt/stops.csv','w',newline='') as f:
    w=csv.writer(f); w.writerow(['stop_id','name','zone','shelter']); 
    for i,s in enumerate(stops): w.writerow([i+1,s,zone[s],r.choice(['yes','no'])])
page('kvt/fares.html','Fares','<p>The fare depends on the number of zones touched: the difference of the zone numbers of the two stops plus one. The zone of each stop is in the <a href="stops.csv">list of stops (CSV)</a>.</p>'+tab(['Zones','Single','Ten-trip card','Monthly pass'],[(k,*(f'{x/100:.2f}' for x in v)) for k,v in cr.items()])+'<p>Children under 6 travel free, children from 6 to 14 and dogs pay half of the single fare, rounded up to 0.05. Cards and passes are at full price only. A ten-trip card is good for ten single trips by any adult person.</p>',nav)
a,b=[(x,y) for x in stops for y in stops if abs(zone[x]-zone[y])==2][5]; z=abs(zone[a]-zone[b])+1; s=cr[z][0]; half=-(-s//2//5)*5; half=-(-(s/2)//5)*5; half=int(half)
T['C44q']=[a,b]; one=min(2*s,10**9)+1*half*1+half*1  # two adults, children 4, 9, one dog
T['C44']=f'{2*(2*s+half+half)/100:.2f}'
# journey
def best(src,dst,day,t0,skip=None):
    # earliest arrival with any changes, 3 minutes per change
    arr={}; todo=[(t0,src,None)]; import heapq; done={}
    heapq.heapify(todo); bestt=None
    while todo:
        t,s,rt=heapq.heappop(todo)
        if s==dst: return t
        if (s,rt) in done and done[s,rt]<=t: continue
        done[s,rt]=t
        for (n,dy,dr),(ss,trs) in TT.items():
            if dy!=day or s not in ss: continue
            k=ss.index(s); ready=t+(3 if rt is not None else 0)
            tr=next((q for q in trs if q[k]>=ready),None)
            if tr:
                for kk in range(k+1,len(ss)): heapq.heappush(todo,(tr[kk],ss[kk],(n,dr,tr[0])))
    return None
cand=[(a,b) for a in range(18) for b in range(18) if a!=b and not any(a in st and b in st for st in routes.values())]
r2=random.Random(5); a,b=r2.choice(cand); T['C43q']=[stops[a],stops[b]]; T['C43']=hm(best(a,b,'Saturday',14*60+5))
# notices
nots=[]; can=set()
def rng(a,b): return {a+timedelta(i) for i in range((b-a).days+1)}
for i in range(36):
    d=date(2025,1,3)+timedelta(10*i+r.randint(0,5)); n=r.choice([4,4,4,1,2,6,7]); a=d+timedelta(r.randint(1,9)); b=a+timedelta(r.randint(0,6)); k=r.random()
    f=lambda x:f'{x.day} {x:%B %Y}'
    if k<.62:
        if a.year==2025 and b.year==2025: 
            why=r.choice(["road works at Ings Station","a parade","shortage of drivers","flooding at Eller Bridge"]); nots.append((d,f'Route {n} suspended',f'Because of {why}, route {n} does not run {"on "+f(a) if a==b else "from "+f(a)+" to "+f(b)+" (both days included)"}.'))
            if n==4: can|=rng(a,b); lastc=(a,b)
    elif k<.8: nots.append((d,f'Route {n} diverted',f'From {f(a)} to {f(b)} route {n} is diverted through Fosse Lane; all trips run.'))
    else: nots.append((d,'Lost and found',f'An umbrella, {r.randint(2,9)} gloves and a violin were handed in.'))
# one early end and one withdrawal for route 4
a=date(2025,11,17); b=date(2025,11,26); nots.append((date(2025,11,12),'Route 4 suspended',f'Because of bridge repairs, route 4 does not run from 17 November 2025 to 26 November 2025 (both days included).')); nots.append((date(2025,11,20),'Route 4 back earlier','The bridge repairs went faster than planned: contrary to our notice of 12 November, route 4 runs again from 22 November 2025.'))
can={x for x in can if not(a<=x<=b)}|rng(a,date(2025,11,21))
# suspensions of route 4 announced otherwise inside that window would make it ambiguous: drop them
nots=[x for x in nots if not(x[1]=='Route 4 suspended' and x[0]!=date(2025,11,12) and date(2025,11,1)<=x[0]<=date(2025,11,30))]
can2=set()
import re
from datetime import datetime
pd=lambda s: datetime.strptime(s,'%d %B %Y').date()
for d,h,t in nots:
    if h=='Route 4 suspended':
        m=re.search(r'from (\d+ \w+ \d+) to (\d+ \w+ \d+)',t)
        if m: can2|=rng(pd(m[1]),pd(m[2]))
        else: can2.add(pd(re.search(r'on (\d+ \w+ \d+)',t)[1]))
can2-=rng(date(2025,11,22),date(2025,11,26)); T['C48']=str(len(can2))
nots.sort(key=lambda x:x[0],reverse=True); per=13; npg=-(-len(nots)//per)
for p in range(npg):
    page(f'kvt/notices-{p+1}.html',f'Notices, page {p+1} of {npg}',''.join(f'<article><h3>{h}</h3><p class="date">{d.day} {d:%B %Y}</p><p>{t}</p></article>' for d,h,t in nots[p*per:p*per+per])+'<p>'+(f'<a href="notices-{p}.html">newer</a> ' if p else '')+(f'<a href="notices-{p+2}.html">older</a>' if p+1<npg else '')+'</p>',nav)

# ---------- museums
r=random.Random(502); nav='<a href="index.html">Trust</a><a href="visit.html">Visit</a><a href="objects-1.html">Objects</a><a href="news.html">News</a><a href="support.html">Support us</a>'
houses={'mill':'Harrowmere Mill Museum','glass':'Museum of Glass and Light','boat':'Boat Hall'}
page('museums/index.html','Harrowmere Museums Trust','<p>Three houses, one ticket office.</p><ul>'+''.join(f'<li><a href="house-{k}.html">{v}</a></li>' for k,v in houses.items())+'</ul>',nav)
pr={k:(r.choice([850,920,1050]),r.choice([400,450,500]),r.choice([2150,2300,2450])) for k in houses}; pr['mill']=(950,450,2350)
for k,v in houses.items():
    page(f'museums/house-{k}.html',v,f'<p>{r.choice(["Built in 1788.","A listed building since 1951.","Reopened in 2012 after the fire."])} Closed on {r.choice(["Mondays","Tuesdays"])}, in winter (November to March) also on Wednesdays.</p>'+tab(['Ticket','Price'],[('Adult',f'{pr[k][0]/100:.2f}'),('Child (5 to 15)',f'{pr[k][1]/100:.2f}'),('Under 5','free'),('Family (2 adults, up to 2 children)',f'{pr[k][2]/100:.2f}')])+'<p>Prices are subject to changes announced under <a href="news.html">News</a>.</p>',nav)
page('museums/visit.html','Plan your visit','<p>All houses open at 10:00; last entry 16:15. Holders of a Valley Card get 10 % off adult tickets (not off family tickets), at the Mill Museum and the Boat Hall only.</p>',nav)
page('museums/news.html','News','<h3>Prices from 1 March 2026</h3><p>From 1 March 2026 adult tickets cost 1.00 more and child tickets 0.50 more in all houses; the family tickets cost 2.00 more.</p><h3>Roof of the Boat Hall</h3><p>The Boat Hall stays closed until 14 May 2026.</p><h3>Prices from 1 March 2025</h3><p>Ticket prices rise by 0.50 (already contained in the price lists on our pages).</p>',nav)
# mill, April 2026: 2 adults with Valley Cards, children 3,7,11,14
A,C,Fm=1050,500,2550; opt=[Fm+1*C, round(2*A*.9)+3*C]; T['C41']=f'{min(opt)/100:.2f}'
pdf('museums/annual-report-2024.pdf',['Harrowmere Museums Trust - Annual report 2024','']+['Visitors by house and quarter']+[f'{v}: Q1 {r.randint(800,4000)}, Q2 {r.randint(3000,9000)}, Q3 {r.randint(5000,14000)}, Q4 {r.randint(1000,5000)}' for v in houses.values()]+['','Donations 2024: 41,870.50 in 612 gifts.'])
page('museums/support.html','Support us','<p>Read our <a href="annual-report-2024.pdf">annual report 2024 (PDF)</a>. Friends of the Trust pay 35.00 a year.</p>',nav)
mats=['brass','iron','oak','glass','linen','brass and oak','silver']; kinds=['lantern','compass','loom shuttle','jug','toll sign','anchor','scale','window','bell']; objs=[]
for i in range(132):
    acq=r.choice([f'{r.randint(1862,1899)}',f'{r.randint(1900,2020)}',f'before {r.randint(1870,1899)}',f'{r.randint(1900,2015)}','unknown']); objs.append((f'HM-{1000+7*i}',r.choice(kinds),r.choice(mats),acq,r.choice(list(houses.values())),r.choice(['on show','on show','store','on loan'])))
T['C42']=str(sum(('brass' in o[2]) and o[5]=='on show' and o[3]!='unknown' and int(o[3][-4:])<1900 for o in objs))
for p in range(4):
    ch=objs[p*33:p*33+33]
    if ch: page(f'museums/objects-{p+1}.html',f'Objects, page {p+1} of 4',tab(['No.','Object','Material','Acquired','House','Status'],ch)+'<p>'+' '.join(f'<a href="objects-{q}.html">{q}</a>' if q!=p+1 else f'<b>{q}</b>' for q in range(1,5))+'</p><p>Objects of two materials are listed with both.</p>',nav)

# ---------- institute
r=random.Random(503); nav='<a href="index.html">ILS</a><a href="people.html">People</a><a href="publications.html">Publications</a><a href="projects.html">Projects</a>'
people=['Ingrid Vael','Tobias Renner','Aoife Daly','Mehmet Aksoy','Ines Thomsen','Lars Oduya','Noemi Varga','Ivo Vael','Ida Thomsen']
page('ils/index.html','Institute for Lake Studies','<p>We study the three lakes of the region: Harrow Mere, Long Tarn and Gaunt Water. <a href="people.html">People</a>, <a href="publications.html">publications</a>, <a href="projects.html">projects</a>.</p>',nav)
page('ils/people.html','People',tab(['Name','Since','Remarks'],[('Ingrid Vael','2016','published as Ingrid Thomsen until 2022')]+[(p,r.randint(2008,2021),r.choice(['','part-time','head of laboratory','guest'])) for p in people[1:]])+'<p>No other person at the institute has changed names.</p>',nav)
cnt=0; titles=['Mixing of','Phosphorus in','Ice cover on','Diatoms of','Sediments of','Oxygen below']; lakes=['Harrow Mere','Long Tarn','Gaunt Water']
for y in range(2021,2026):
    li=[]
    for i in range(r.randint(14,22)):
        au=r.sample(people,r.randint(1,4)); st=r.random()
        names=[]
        for p in au:
            q=p
            if p=='Ingrid Vael' and y<=2022: q='Ingrid Thomsen'
            f,l=q.split()
            names.append(q if st<.4 else f'{l}, {f}')
        if 'Ingrid Vael' in au and 2021<=y<=2024: cnt+=1
        ti=f'{r.choice(titles)} {r.choice(lakes)} {r.choice(["after storms","in dry years","1990–2020","under warming"])}'
        li.append(f'<li>{"; ".join(names)} ({y}): <i>{ti}</i>. {r.choice(["Journal of Cold Lakes","Limnos Letters","ILS Reports"])} {r.randint(3,40)}, {r.randint(1,400)}.</li>')
    page(f'ils/publications-{y}.html',f'Publications {y}',f'<p>{len(li)} publications.</p><ol>'+''.join(li)+'</ol><p><a href="publications.html">All years</a></p>',nav)
T['C45']=str(cnt)
page('ils/publications.html','Publications','<p>By year:</p><ul>'+''.join(f'<li><a href="publications-{y}.html">{y}</a></li>' for y in range(2025,2020,-1))+'</ul>',nav)
pj=['REEDBELT','COLDBED','TARNWATCH','SILTPATH','BLUEGATE']; tot=0; li=[]; amend=[]
for k,p in enumerate(pj):
    g=r.randint(90,900)*1000+r.choice([0,500]); stt='finished' if k in(0,2,3,5) else 'running'; am=r.choice([-1,1])*r.randint(5,60)*100 if k in(0,3,4) else 0
    if stt=='finished': tot+=g+am
    if am: amend.append(f'{p}: grant {"raised" if am>0 else "cut"} by {abs(am):,} euros')
    page(f'ils/project-{p.lower()}.html',f'Project {p}',tab(['Item','Value'],[('Status',stt),('Started',r.randint(2014,2021)),('Grant as first approved',f'{g:,} euros'),('Lake',r.choice(lakes))])+('<p>Data: <a href="secchi.csv">Secchi depths (CSV)</a>. Until 31 May 2023 the depths of Long Tarn were read with a marked line that was stretched: multiply those values by 1.05.</p>' if p=='TARNWATCH' else '<p>No data published yet.</p>'),nav); li.append(f'<li><a href="project-{p.lower()}.html">{p}</a></li>')
T['C46']=str(tot); pdf('ils/grant-changes.pdf',['Institute for Lake Studies','Changes of grants after approval','']+amend+['','All other grants were paid as first approved.'])
page('ils/projects.html','Projects','<ul>'+''.join(li)+'</ul><p>Some grants were changed after approval: see the <a href="grant-changes.pdf">list of changes (PDF)</a>.</p>',nav)
v=[]; rows=[]
d=date(2022,4,3)
while d<date(2025,11,1):
    for l in lakes:
        x=round(r.gauss({'Harrow Mere':2.4,'Long Tarn':4.6,'Gaunt Water':7.1}[l],.6),2)
        s=f'{x:.2f}' if r.random()>.05 else 'fog'
        rows.append([d.isoformat(),l,s,r.choice(['AD','LO','NV'])])
        if l=='Long Tarn' and s!='fog' and d.year==2023 and 4<=d.month<=9: v.append(x*(1.05 if d<=date(2023,5,31) else 1))
    d+=timedelta(r.choice([6,7,8]))
r.shuffle(rows)
with open('site/ils/secchi.csv','w',newline='') as f: w=csv.writer(f); w.writerow(['date','lake','secchi_m','observer']); w.writerows(rows)
T['C47']=f'{sum(v)/len(v):.3f}'
