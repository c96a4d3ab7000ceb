"""Files of set 3."""
import random, json, os, docx
from datetime import date, timedelta
os.chdir(os.path.dirname(os.path.abspath(__file__))); T={}
r=random.Random(371); d=docx.Document(); d.add_heading("Aunt Wilhelmina's diary, spring 1958",0); sold=0
W=['two','three','four','five','six','seven','eight','nine','ten','eleven','twelve']
day=date(1958,3,1)
for i in range(78):
    day+=timedelta(r.choice([1,1,1,2])); d.add_heading(f'{day:%A}, {day.day} {day:%B}',2); S=[]
    for _ in range(r.randint(2,5)):
        k=r.randint(0,9); n=r.randint(2,12); w=W[n-2]; 
        if k<=2: who=r.choice(['Mrs Pell','the baker','Dr Howe','the schoolmaster']); S.append(r.choice([f'Sold {w} eggs to {who}.',f'{who[0].upper()+who[1:]} bought {w} eggs from me.'])); sold+=n
        elif k==3: S.append(f'Gave {w} eggs to the vicar and would take no money.')
        elif k==4: S.append(f'The fox got one hen and broke {w} eggs.')
        elif k==5: S.append(f'Nearly sold {w} eggs to Mrs Pell, but she had forgotten her purse.')
        elif k==6: S.append(f'Found {w} eggs in the hedge.')
        else: S.append(r.choice(['Rain all morning.','Letter from Otto.','Washed the curtains.','The cat has kittens again.','Church, long sermon.']))
    d.add_paragraph(' '.join(S))
d.save('files/diary_1958.docx'); T['T37']=str(sold)
r=random.Random(381); names=['Zsofi','Pim','Old Gregor','Tamsin']; th=[]
pts={n:0 for n in names}; streak={n:0 for n in names}
for i in range(1,181):
    n=r.choice(names); what=r.choice(['bin','bin','bin','miss','miss','plant','window','boss']); ev={'throw':i,'who':n,'hit':what,'hand':r.choice(['left','right','right'])}
    th.append(ev)
    p={'bin':2,'miss':0,'plant':-1,'window':1,'boss':-5}[what]
    if what=='bin': 
        streak[n]+=1
        if ev['hand']=='left': p+=1
        if streak[n]%3==0: p*=2
    else: streak[n]=0
    pts[n]+=p
json.dump({'game':'paper balls, third floor, last Friday before the holidays','throws':th},open('files/paper_balls.json','w'),indent=1); T['T38']=str(max(pts.values())); assert sorted(pts.values())[-1]>sorted(pts.values())[-2]
