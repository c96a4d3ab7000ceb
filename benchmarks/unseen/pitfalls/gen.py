"""Writes files/, questions.jsonl, families.json. Fixed seeds.
Each question: way A = from the in-memory model that generated the file; way B = re-reads the
written file and applies the lesson; naive = pandas on the file. Asserts A == B != naive.
Run: python gen.py   (needs openpyxl, pandas, lxml)"""
import csv, json, os, re, random, datetime as dt, hashlib
from collections import defaultdict, OrderedDict
from decimal import Decimal as D
import pandas as pd, openpyxl
from openpyxl.styles import Font, PatternFill
from openpyxl.comments import Comment
HERE = os.path.dirname(os.path.abspath(__file__)); F = os.path.join(HERE, 'files')
os.makedirs(F, exist_ok=True)
for f in os.listdir(F): os.remove(os.path.join(F, f))
P = lambda n: os.path.join(F, n)
OUT = []
def add(fam, q, level, a, b, naive, file, fmt=str):
    a, b, naive = fmt(a), fmt(b), fmt(naive)
    assert a == b, (file, a, b)
    assert a != naive, (file, a, naive)
    assert os.path.exists(P(file))
    OUT.append(dict(fam=fam, q=q, level=level, ans=a, naive=naive, file=file))
m2 = lambda x: f'{D(str(x)):.2f}' if not isinstance(x, float) else f'{x:.2f}'
def cents(c): return f'{c//100}.{c%100:02d}'
def wcsv(name, head, rows, sep=',', pre=(), post=()):
    with open(P(name), 'w', newline='', encoding='utf-8') as fh:
        for l in pre: fh.write(l + '\n')
        w = csv.writer(fh, delimiter=sep, lineterminator='\n'); w.writerow(head); w.writerows(rows)
        for l in post: fh.write(l + '\n')
def book(name, head, rows, title='Sheet1', style=None, extra=(), foot=(), top=()):
    wb = openpyxl.Workbook(); ws = wb.active; ws.title = title
    for t in top: ws.append([t])
    ws.append(head)
    for c in ws[ws.max_row]: c.font = Font(bold=True)
    for i, r in enumerate(rows):
        ws.append(list(r))
        if style: style(ws, ws.max_row, i)
    for col in 'ABCDEFGH'[:len(head)]: ws.column_dimensions[col].width = 22
    if foot:
        ws.append([])
        for t in foot:
            ws.append(t if isinstance(t, (list, tuple)) else [t])
    for t, rr in extra:
        w2 = wb.create_sheet(t)
        for r in rr: w2.append(list(r))
    wb.properties.created = wb.properties.modified = dt.datetime(2025, 6, 1)
    wb.save(P(name)); return name
def rd(name, **k): return pd.read_excel(P(name), **k)

# ============ 1. meaning carried by the look of the cell ============
FAM = 'presentation_carries_meaning'
def f1a():
    r = random.Random(101); n = 'course_bookings_spring.xlsx'
    courses = [('First aid refresher', 85), ('Forklift basics', 240), ('Excel II', 160), ('Working at height', 195)]
    people = 'Abel Brandt Cichy Dahl Egger Fiala Gruber Hoxha Ivers Jonas Kranz Lindt Moser Nagel Ott Pohl Quast Rieger Sommer Thoma Ulrich Vogt Wirth Zeller Amsel Birk Czerny Drexl Ebner Falk Gerst Huber'.split()
    rows = []
    for i, p in enumerate(people):
        c = r.choice(courses); rows.append([f'B{301+i}', p, c[0], dt.date(2025, 3, r.randint(3, 28)), c[1]])
    off = {4, 11, 17, 25, 28}
    def st(ws, row, i):
        if i in off:
            for c in ws[row]: c.font = Font(strike=True)
    book(n, ['Booking', 'Participant', 'Course', 'Date', 'Fee EUR'], rows, 'Bookings', st,
         extra=[('Info', [['Contact', 'Training office, room 2.14'], ['Struck through', 'booking withdrawn, no fee due'], ['Invoicing', 'end of quarter']])])
    ws = openpyxl.load_workbook(P(n))['Bookings']
    b = sum(x[4].value for x in ws.iter_rows(min_row=2) if not x[0].font.strike)
    add(FAM, 'The attached workbook lists the bookings for our spring courses. How much in course fees will we invoice for them in total? Answer in euros as a whole number without thousands separator.', 2,
        sum(x[4] for i, x in enumerate(rows) if i not in off), b, rd(n)['Fee EUR'].sum(), n)
def f1b():
    r = random.Random(102); n = 'goods_in_week_18.xlsx'
    items = ['Hex bolt M8', 'Washer M8', 'Rivet 4x10', 'Spring pin', 'Circlip 20', 'O-ring 32', 'Grub screw M6']
    rows = [[dt.date(2025, 4, 28) + dt.timedelta(days=i // 8), f'DN{7710+i*3}', items[r.randrange(7)], r.randint(2, 19) * 10 + r.randint(1, 9)] for i in range(38)]
    rows[9][3] = 141; rows[22][3] = 86; rows[31][3] = 190
    com = {9: (114, 'K. Reuter: digits swapped, recounted on the shelf - 114 is right.'), 22: (68, 'K. Reuter: 86 on the scanner, delivery note and recount both say 68.'), 31: (109, 'K. Reuter: typing error, 109 pieces came in.')}
    harmless = {3: 'Box slightly dented, goods fine.', 27: 'Driver waited 20 min.'}
    def st(ws, row, i):
        if i in com: ws.cell(row, 4).comment = Comment(com[i][1], 'K. Reuter')
        if i in harmless: ws.cell(row, 2).comment = Comment(harmless[i], 'K. Reuter')
    book(n, ['Received', 'Delivery note', 'Article', 'Pieces'], rows, 'Goods in', st)
    a = sum(com[i][0] if i in com else x[3] for i, x in enumerate(rows))
    b = 0
    for x in openpyxl.load_workbook(P(n)).active.iter_rows(min_row=2):
        v, c = x[3].value, x[3].comment
        if c: v = int([t for t in re.findall(r'\d+', c.text) if int(t) != v][0])
        b += v
    add(FAM, 'The attached workbook is the goods-in record of week 18. How many pieces were received in that week altogether? Answer with a whole number.', 3, a, b, rd(n)['Pieces'].sum(), n)
def f1c():
    r = random.Random(103); n = 'lab_equipment_B3.xlsx'
    it = ['Microscope', 'Centrifuge', 'Fume hood', 'Balance', 'Incubator', 'Shaker', 'pH meter', 'Spectrometer', 'Freezer -80', 'Autoclave']
    rows = [[f'EQ-{1200+7*i}', r.choice(it), f'B3.{r.randint(1,9):02d}', r.randint(2012, 2024), r.randint(8, 240) * 50] for i in range(34)]
    yel, grn = {2, 8, 15, 21, 30}, {5, 6, 19}
    def st(ws, row, i):
        col = 'FFFFF2A8' if i in yel else 'FFCDE8C9' if i in grn else None
        if col:
            for c in ws[row]: c.fill = PatternFill('solid', fgColor=col)
    book(n, ['Tag', 'Device', 'Room', 'Bought', 'Value EUR'], rows, 'B3', st)
    wb = openpyxl.load_workbook(P(n)); k = wb.create_sheet('Key')
    k.append(['', 'serviced in 2025']); k['A1'].fill = PatternFill('solid', fgColor='FFCDE8C9')
    k.append(['', 'belongs to the Institute of Physics, insured there']); k['A2'].fill = PatternFill('solid', fgColor='FFFFF2A8')
    wb.properties.modified = dt.datetime(2025, 6, 1); wb.save(P(n))
    wb = openpyxl.load_workbook(P(n)); bad = wb['Key']['A2'].fill.fgColor.rgb
    b = sum(x[4].value for x in wb['B3'].iter_rows(min_row=2) if x[0].fill.fgColor.rgb != bad)
    add(FAM, 'The attached equipment list covers wing B3 of our Institute of Biology. What total equipment value do we have to report to our insurer? Answer in euros as a whole number without thousands separator.', 2,
        sum(x[4] for i, x in enumerate(rows) if i not in yel), b, rd(n)['Value EUR'].sum(), n)
def f1d():
    r = random.Random(104); n = 'travel_costs_team_south.xlsx'
    k = ['Hotel', 'Train', 'Taxi', 'Meal', 'Parking', 'Conference fee']
    rows = [[dt.date(2025, 5, 2) + dt.timedelta(days=i), r.choice(['Widmer', 'Sauter', 'Roth', 'Keller']), r.choice(k), r.randint(60, 1900) / 5] for i in range(29)]
    chf = {1, 6, 7, 13, 18, 24, 27}
    def st(ws, row, i): ws.cell(row, 4).number_format = '#,##0.00 "CHF"' if i in chf else '#,##0.00 "€"'
    book(n, ['Date', 'Name', 'Type', 'Amount'], rows, 'May', st, extra=[('Admin', [['Cost centre', 4410], ['Approver', 'B. Aebi'], ['CHF rate May', '1 CHF = 1.05 EUR']])])
    a = sum(D(round(x[3] * 100)) / 100 * (D('1.05') if i in chf else 1) for i, x in enumerate(rows))
    b = 0
    for x in openpyxl.load_workbook(P(n))['May'].iter_rows(min_row=2):
        c = round(x[3].value * 100); b += c * 105 if 'CHF' in x[3].number_format else c * 100
    assert b % 100 == 0
    add(FAM, "What did the team's trips in May cost in total according to the attached workbook? Answer in euros with two decimals, without thousands separator.", 3, a, D(b) / 10000, rd(n)['Amount'].sum(), n, m2)
def f1e():
    r = random.Random(105); n = 'annual_meeting_list.xlsx'
    nm = 'Okafor Pettersen Marsh Delacroix Yilmaz Novak Byrne Castillo Haddad Lund Mbeki Tanaka Ricci Sousa Weaver Kaplan Orlov Finch Grady Hobbs Irwin Jensen Kerr Lowe Munro Nash Odell Price Quinn Reyes Stone Tate Usher Vance Wolfe Young'.split()
    rows = [[x, r.choice(['Leeds', 'Cork', 'Bath', 'Hull']), r.choice([1, 1, 1, 2, 2, 3]), r.choice(['meat', 'fish', 'veg'])] for x in nm]
    g = {3, 9, 14, 20, 29, 33}
    rows[9][3] = rows[20][3] = rows[33][3] = 'veg'
    def st(ws, row, i):
        if i in g:
            for c in ws[row]: c.font = Font(italic=True, color='FF9A9A9A')
    book(n, ['Member', 'Branch', 'Persons', 'Menu'], rows, 'List', st, foot=['Printed 12 May / last changes 19 May', 'Grey italics: called off after 12 May', 'Dinner 19:30, Assembly Rooms'])
    b = sum(x[2].value for x in openpyxl.load_workbook(P(n)).active.iter_rows(min_row=2) if x[3].value == 'veg' and not x[0].font.italic)
    d = rd(n)
    add(FAM, 'From the attached list: for how many persons must the kitchen prepare the vegetarian menu ("veg") at the dinner on the annual meeting? The menu holds for all persons of a row. Answer with a whole number.', 2,
        sum(x[2] for i, x in enumerate(rows) if x[3] == 'veg' and i not in g), b, int(d[d.Menu == 'veg'].Persons.sum()), n)
def f1f():
    r = random.Random(106); n = 'agency_timesheet.html'
    who = [('Bell', 1650), ('Cross', 1825), ('Doyle', 1500), ('Eames', 2110)]
    rows = []
    for d in range(6):
        for w, c in who: rows.append([f'{12+d} May', w, r.choice(['Picking', 'Loading', 'Packing']), r.choice([4, 6, 7, 8, 8, 9]), c])
    x = {5, 10, 17, 22}
    h = ['<html><head><style>td{padding:2px 8px} tr.k2 td{text-decoration:line-through;color:#555} tr.k1 td{background:#eef}</style></head><body>', '<h2>Timesheet, Northline Staffing, 12-17 May</h2>', '<table border="1"><tr><th>Day</th><th>Worker</th><th>Task</th><th>Hours</th><th>Rate GBP</th></tr>']
    for i, q in enumerate(rows):
        cl = 'k2' if i in x else 'k1' if i % 2 else 'k0'
        h.append(f'<tr class="{cl}"><td>{q[0]}</td><td>{q[1]}</td><td>{q[2]}</td><td>{q[3]}</td><td>{cents(q[4])}</td></tr>')
    h.append('</table><p>Deletions initialled by the site manager, 19 May (worker not on site).</p></body></html>')
    open(P(n), 'w').write('\n'.join(h))
    b = sum(int(m[0]) * round(float(m[1]) * 100) for l in open(P(n)) if l.startswith('<tr class') and 'k2' not in l for m in re.findall(r'<td>(\d+)</td><td>([\d.]+)</td></tr>', l))
    t = pd.read_html(P(n))[0]
    add(FAM, 'The attached page is the timesheet of an agency whose workers we pay by the hour. What do we owe the agency for that week? Answer in pounds with two decimals, without thousands separator.', 2,
        cents(sum(q[3] * q[4] for i, q in enumerate(rows) if i not in x)), cents(b), f"{(t['Hours']*t['Rate GBP']).sum():.2f}", n)
for f in (f1a, f1b, f1c, f1d, f1e, f1f): f()

# ============ 2. free-text remarks on single rows change the figures ============
FAM = 'row_remarks_override_figures'
def spread(r, rows, col, triv, p=.45):
    for x in rows: x[col] = r.choice(triv) if r.random() < p else ''
def f2a():
    r = random.Random(201); n = 'bread_rounds.csv'
    cu = ['Harbour Cafe', 'Mill School', 'Hotel Linde', 'Station Kiosk', 'St. Anna Home']
    rows = [[f'2025-06-{2+i//9:02d}', f'R{1+i%3}', cu[(i * 2 + i // 5) % 5], r.randint(4, 26), ''] for i in range(54)]
    spread(r, rows, 4, ['left at back door', 'signed by cook', 'gate code 4471', 'ring twice', 'late, roadworks', 'paid cash for rolls', 'asked for new price list'])
    H = [i for i, x in enumerate(rows) if x[2] == cu[0]]; K = [i for i, x in enumerate(rows) if x[2] == cu[3]]
    rows[H[2]][3] = 21; rows[H[2]][4] = 'figure misread from the slip, 12 trays went out'
    rows[H[6]][4] = 'wrong line ticked, these went to Hotel Linde'
    rows[K[5]][4] = 'kiosk shut - all trays taken by Harbour Cafe instead'
    wcsv(n, ['date', 'round', 'customer', 'trays', 'remark'], rows)
    a = sum(x[3] for i, x in enumerate(rows) if i in H) - 9 - rows[H[6]][3] + rows[K[5]][3]
    b = 0
    for x in csv.DictReader(open(P(n))):
        c, t, k = x['customer'], int(x['trays']), x['remark']
        if 'misread' in k: t = int(re.search(r'(\d+) trays', k)[1])
        if 'went to Hotel' in k: c = 'Hotel Linde'
        if 'taken by Harbour' in k: c = 'Harbour Cafe'
        b += t * (c == 'Harbour Cafe')
    d = pd.read_csv(P(n))
    add(FAM, 'The attached file records the bread rounds of six days. How many trays did Harbour Cafe get in that time? Answer with a whole number.', 2, a, b, d[d.customer == 'Harbour Cafe'].trays.sum(), n)
def f2b():
    r = random.Random(202); n = 'expense_claims_q1.xlsx'
    nm = ['Ana Prieto', 'Tom Ashby', 'Lea Wolters', 'Igor Simic']
    rows = [[f'C-{400+i}', nm[i * 3 % 4 if i % 7 else 1], dt.date(2025, 1, 6) + dt.timedelta(days=2 * i), r.choice(['Train', 'Hotel', 'Supplies', 'Meal', 'Phone']), r.randint(900, 31000) / 100, ''] for i in range(42)]
    spread(r, rows, 5, ['receipt on file', 'visit to Lyon plant', 'two nights', 'client lunch', 'copy of receipt', 'with T. Marr'], .5)
    L = [i for i, x in enumerate(rows) if x[1] == nm[2]]; T = [i for i, x in enumerate(rows) if x[1] == nm[0]]
    rows[L[1]][4] = 126.40; rows[L[1]][5] = 'bill includes 38.00 for a private phone cover, to come off'
    rows[L[4]][5] = 'already settled from petty cash on the day'
    rows[T[3]][5] = 'handed in by Ana, but Lea Wolters paid this one - refund goes to Lea'
    book(n, ['Claim', 'Name', 'Date', 'Type', 'Amount EUR', 'Note'], rows, 'Q1')
    c = lambda i: round(rows[i][4] * 100)
    a = sum(c(i) for i in L) - 3800 - c(L[4]) + c(T[3])
    b = 0
    for x in rd(n).fillna('').to_dict('records'):
        v, w, k = round(x['Amount EUR'] * 100), x['Name'], x['Note']
        if 'to come off' in k: v -= round(float(re.search(r'includes ([\d.]+)', k)[1]) * 100)
        if 'petty cash' in k: v = 0
        if 'refund goes to Lea' in k: w = 'Lea Wolters'
        if w == 'Lea Wolters': b += v
    d = rd(n)
    add(FAM, 'According to the attached list of expense claims for the first quarter, how much do we still have to transfer to Lea Wolters? Nothing on the list has been transferred yet. Answer in euros with two decimals, without thousands separator.', 2, cents(a), cents(b), f"{d[d.Name=='Lea Wolters']['Amount EUR'].sum():.2f}", n)
def f2c():
    r = random.Random(203); n = 'facility_tickets.json'
    rows = [dict(id=f'T-{110+i}', opened=f'2025-02-{3+i//2:02d}', floor=r.choice([1, 2, 2, 3, 4]), subject=r.choice(['Radiator cold', 'Lamp flickers', 'Door jams', 'Tap drips', 'Socket dead', 'Blind stuck']), comment=r.choice(['', '', 'done', 'spare part ordered', 'caller: ext. 318', 'janitor informed'])) for i in range(46)]
    two = [i for i, x in enumerate(rows) if x['floor'] == 2]; thr = [i for i, x in enumerate(rows) if x['floor'] == 3]
    for k, s in ((8, 'same fault as reported by the day shift in %s, nothing new'), (11, 'second call about %s, same fault')):
        j = two[k]; p = [i for i in two[:k]][k - 2]
        rows[j]['subject'] = rows[p]['subject']; rows[j]['comment'] = s % rows[p]['id']
    rows[two[4]]['comment'] = 'turned out to be room 4.07 on the fourth floor'
    out = {two[8], two[11], two[4]}
    rows[thr[3]]['comment'] = 'technician: room is 2.15, one floor below'
    rows[thr[5]]['comment'] = 'caller mixed up the floors, it is the second'
    json.dump({'building': 'Annex East', 'tickets': rows, 'procedure': 'one ticket per report; a report of a known fault is marked as such by the janitor'}, open(P(n), 'w'), indent=1)
    a = len(two) - len(out) + 2
    b = 0
    for x in json.load(open(P(n)))['tickets']:
        f, k = x['floor'], x['comment']
        if 'same fault' in k: continue
        if 'fourth floor' in k: f = 4
        if '2.15' in k or 'it is the second' in k: f = 2
        b += f == 2
    add(FAM, 'The attached export holds the tickets of February for Annex East. How many faults were there on the second floor (floor 2) in that month? Answer with a whole number.', 3, a, b, len(two), n)
def f2d():
    r = random.Random(204); n = 'gate_book.txt'
    nm = 'Aldo Bern Carr Dove Elm Frey Gall Horn Iqbal Jung Kemp Lang Mair Nold Ohm Penn Rau Seel Toll Ude Vorn Wynn Zorn Aust Beil Dorn Ekert Forst Glas Hein Irmler Jost Kalt Lamm Mohn Nuss Otto Pabst Ruf Saal Trapp Uhl Voss Wald'.split()
    rows = []
    for i, x in enumerate(nm):
        day = ['Mon', 'Tue', 'Wed'][i * 3 // len(nm)]
        rows.append([day, f'{8+(i%15)//2:02d}:{r.randint(0,59):02d}', x, r.choice(['Kern AG', 'Lotz KG', 'TUV', 'Priv.', 'Bosch']), r.choice(['', '', 'to hall 2', 'parking P3', 'safety film seen', 'no laptop'])])
    rows.sort(key=lambda x: (['Mon', 'Tue', 'Wed'].index(x[0]), x[1]))
    t = [i for i, x in enumerate(rows) if x[0] == 'Tue']
    rows[t[2]][4] = 'brings two colleagues, no separate entry'
    rows[t[6]][4] = 'turned away, not on the list, did not enter'
    rows[t[10]][4] = 'with 3 trainees, on his badge'
    rows[t[12]][3:] = [rows[t[3]][3], 'back from lunch']; rows[t[12]][2] = rows[t[3]][2]
    with open(P(n), 'w') as fh:
        fh.write('GATE BOOK  Plant Ost  24-26 March\nday  in     visitor    firm      note\n')
        for x in rows: fh.write(f'{x[0]}  {x[1]}  {x[2]:<10} {x[3]:<9} {x[4]}'.rstrip() + '\n')
    a = len(t) + 2 - 1 + 3 - 1
    b = 0
    for l in open(P(n)):
        if l.startswith('Tue'):
            k = l[32:].strip()
            b += {'brings two colleagues, no separate entry': 3, 'turned away, not on the list, did not enter': 0, 'with 3 trainees, on his badge': 4, 'back from lunch': 0}.get(k, 1)
    add(FAM, 'The attached gate book covers three days. How many different visitors entered the plant on Tuesday? Answer with a whole number.', 2, a, b, len({rows[i][2] for i in t}), n)
def f2e():
    r = random.Random(205); n = 'stocktake_store2.csv'
    gr = ['Gloves', 'Masks', 'Goggles', 'Aprons']
    rows = [[f'{chr(65+i//10)}{i%10+1:02d}', gr[r.randrange(4)], r.choice(['S', 'M', 'L', 'XL']), r.randint(20, 160), ''] for i in range(50)]
    spread(r, rows, 4, ['shelf label missing', 'dusty', 'top shelf', 'old packaging', 'counted by MR', 'relabel'], .4)
    G = [i for i, x in enumerate(rows) if x[1] == 'Gloves']; M = [i for i, x in enumerate(rows) if x[1] == 'Masks']
    rows[G[2]][3] = 34; rows[G[2]][4] = 'counted by the pack here, 10 pairs in each'
    rows[G[5]][4] = '25 pairs of these belong to the hire firm, collected next week'
    rows[M[3]][4] = 'label wrong, shelf holds gloves'
    rows[G[8]][4] = 'same goods as %s, counted twice' % rows[G[7]][0]; rows[G[8]][3] = rows[G[7]][3]; rows[G[8]][2] = rows[G[7]][2]
    wcsv(n, ['bin', 'article', 'size', 'counted', 'remark'], rows, ';')
    a = sum(rows[i][3] for i in G) + 34 * 9 - 25 + rows[M[3]][3] - rows[G[8]][3]
    b = 0
    for x in csv.DictReader(open(P(n)), delimiter=';'):
        q, s, k = int(x['counted']), x['article'], x['remark']
        if '10 pairs' in k: q *= 10
        if 'hire firm' in k: q -= 25
        if 'holds gloves' in k: s = 'Gloves'
        if 'counted twice' in k: q = 0
        b += q * (s == 'Gloves')
    d = pd.read_csv(P(n), sep=';')
    add(FAM, 'The attached file is the stocktake of store 2. How many pairs of gloves do we own there, over all sizes? Answer with a whole number.', 3, a, b, d[d.article == 'Gloves'].counted.sum(), n)
def f2f():
    r = random.Random(206); n = 'festival_helpers.xlsx'
    nm = ['Ivo', 'Mara', 'Jule', 'Pit', 'Senta', 'Kai']
    rows = []
    for i in range(48):
        s = r.choice([8, 9, 10, 12, 13, 14]); rows.append([dt.date(2025, 7, 10) + dt.timedelta(days=i // 12), nm[(i * 5 + i // 6) % 6], r.choice(['Bar', 'Gate', 'Stage', 'Camp']), f'{s:02d}:00', f'{s+r.choice([3,4,5,6]):02d}:00', ''])
    spread(r, rows, 5, ['brought own gloves', 'radio 7', 'meal voucher given', 'T-shirt L', 'key returned'], .45)
    seen = set()
    for x in rows:   # two shifts per helper and day, never overlapping
        st = r.choice([14, 15]) if (x[0], x[1]) in seen else r.choice([8, 9, 10]); seen.add((x[0], x[1]))
        x[3], x[4] = f'{st:02d}:00', f'{st + r.choice([3, 4]):02d}:00'
    I = [i for i, x in enumerate(rows) if x[1] == 'Ivo']; K = [i for i, x in enumerate(rows) if x[1] == 'Kai']
    rows[I[3]][3:] = ['14:00', '18:00', 'went home at 15:00 with a headache']
    rows[I[6]][5] = 'swapped out, Ulli worked this one'
    rows[K[1]][3:] = ['19:00', '23:00', 'Kai ill, Ivo did the whole shift']
    rows[K[6]][3:] = ['09:00', '14:00', 'Kai only until 12:00, Ivo from then on']
    assert [str(rows[k][0])[8:] for k in (I[3], I[6], K[1], K[6])] == ['11', '13', '10', '13']
    book(n, ['Day', 'Helper', 'Place', 'From', 'To', 'Remark'], rows, 'Shifts')
    L = lambda x: int(x[4][:2]) - int(x[3][:2])
    a = sum(L(rows[i]) for i in I) - 3 - L(rows[I[6]]) + L(rows[K[1]]) + 2
    b = 0
    for x in rd(n).fillna('').to_dict('records'):
        s, e, w, k = int(x['From'][:2]), int(x['To'][:2]), x['Helper'], x['Remark']
        if 'headache' in k: e = 15
        if 'Ulli worked' in k: w = 'Ulli'
        if 'Ivo did' in k: w = 'Ivo'
        if 'Ivo from then' in k: w, s = 'Ivo', 12
        if w == 'Ivo': b += e - s
    add(FAM, 'From the attached shift list of the festival: how many hours did Ivo work? Answer with a whole number.', 2, a, b, sum(L(rows[i]) for i in I), n)
for f in (f2a, f2b, f2c, f2d, f2e, f2f): f()

# ============ 3. value of a parent repeated on each child row ============
FAM = 'parent_value_repeated_on_child_rows'
def f3a():
    r = random.Random(301); n = 'webshop_may.csv'; rows = []
    art = [('Tea tin', 1290), ('Mug', 850), ('Honey', 690), ('Candle', 1425), ('Soap', 475)]; a = 0
    for o in range(22):
        fee = r.choice([490, 490, 690, 0, 990]); a += fee
        for nme, p in r.sample(art, r.choice([1, 1, 2, 3, 4])):
            q = r.randint(1, 4); a += q * p; rows.append([5001 + o, f'2025-05-{1+o:02d}', nme, q, cents(p), cents(fee)])
    wcsv(n, ['order_no', 'date', 'article', 'qty', 'unit_price', 'shipping'], rows, post=())
    d = pd.read_csv(P(n)); b = (d.qty * d.unit_price).sum() + d.drop_duplicates('order_no').shipping.sum()
    add(FAM, 'The attached file has the web shop sales of May. How much did the customers pay us altogether, goods and shipping? Answer in euros with two decimals, without thousands separator.', 1, cents(a), f'{b:.2f}', f'{(d.qty*d.unit_price+d.shipping).sum():.2f}', n)
def f3b():
    r = random.Random(302); n = 'arrivals_whitsun.xlsx'; rows = []; a = 0; g = 0
    fn = 'Adam Bea Carl Dina Emil Fay Gus Hana Ian Jo Kim Lou Max Nora Olaf Pia'.split()
    sn = 'Berger Conti Dupont Ek Fuchs Gallo Hall Ilves Jansen Kos Lam Meyer Nemec Orban Petit Ruiz Sala Thal'.split()
    for k, s in enumerate(sn):
        p = r.choice([96, 118, 118, 142, 165]); nt = r.randint(1, 4); a += p * nt
        for x in r.sample(fn, r.choice([1, 2, 2, 3])): rows.append([f'{x} {s}', 100 + k, dt.date(2025, 6, 5) + dt.timedelta(days=k % 3), nt, p])
    book(n, ['Guest', 'Room', 'Arrival', 'Nights', 'Room rate EUR'], rows, 'Arrivals')
    seen = {}
    for x in rd(n).itertuples(): seen[x.Room] = x.Nights * x._5
    d = rd(n)
    add(FAM, 'The attached list shows the guests of our hotel over Whitsun with the nightly rate. What are the lodging revenues from these stays? Answer in euros as a whole number without thousands separator.', 2, a, sum(seen.values()), (d.Nights * d['Room rate EUR']).sum(), n)
def f3c():
    r = random.Random(303); n = 'damage_items.json'; rows = []; a = 0
    for c in range(17):
        ex = r.choice([150, 150, 300, 500]); its = [r.randint(6, 90) * 20 for _ in range(r.choice([1, 2, 3, 4]))]
        a += max(0, sum(its) - ex)
        for v in its: rows.append({'claim': f'S25-{611+c}', 'item': r.choice(['carpet', 'laptop', 'sofa', 'bicycle', 'TV', 'wardrobe']), 'assessed_eur': v, 'excess_eur': ex})
    r.shuffle(rows); json.dump(rows, open(P(n), 'w'), indent=0)
    d = pd.read_json(P(n)); g = d.groupby('claim').agg(s=('assessed_eur', 'sum'), e=('excess_eur', 'first'))
    add(FAM, 'The attached export lists the damaged items of the household claims of one month, with the assessed damage and the excess (deductible) the policyholder bears. How much does the insurer pay out on these claims in total? Answer in euros as a whole number without thousands separator.', 2, a, int((g.s - g.e).clip(lower=0).sum()), int((d.assessed_eur - d.excess_eur).clip(lower=0).sum()), n)
def f3d():
    r = random.Random(304); n = 'project_assignments.csv'; rows = []; a = 0
    nm = 'Arndt Bauer Celik Dietz Ernst Fink Gross Haas Illg Jahn Kunz Lorenz'.split()
    for i, x in enumerate(nm):
        h = r.choice([20, 30, 35, 38.5, 38.5, 38.5]); a += h
        for p in r.sample(['Atlas', 'Borea', 'Cirrus', 'Delta', 'Etna'], r.randint(1, 4)): rows.append([2200 + i, x, p, r.choice(['lead', 'member', 'member']), str(h).replace('.', ',')])
    rows.sort(key=lambda x: x[2]); wcsv(n, ['pers_no', 'name', 'project', 'role', 'weekly_hours_contract'], rows, ';')
    d = pd.read_csv(P(n), sep=';', decimal=',')
    add(FAM, "The attached file lists the department's staff by project, with weekly contract hours. What is the average number of contract hours per week of an employee of the department? Answer in hours with two decimals.", 1, f'{a/len(nm):.2f}', f"{d.groupby('pers_no').weekly_hours_contract.max().mean():.2f}", f'{d.weekly_hours_contract.mean():.2f}', n)
def f3e():
    r = random.Random(305); n = 'tenants_canal_street.xlsx'; rows = []; rents = []
    nm = iter('Abt Bohm Cool Dorr Eder Faro Goll Heck Imhof Juhl Kant Loos Mann Nies Oster Pütz Raab Senn Tieck Unger Veit Wenz Zick Arp Blum Cord Diem Eich Fass Gams Herd Jobst Karg Lutz Merk Noll'.split())
    for k in range(18):
        rt = r.randint(54, 128) * 10; rents.append(rt)
        for _ in range(r.choice([1, 1, 2, 2, 3]) if rt > 800 else 1):
            rows.append([next(nm), f'{k//6+1}.{k%6+1}', dt.date(2018, 1, 1) + dt.timedelta(days=r.randint(0, 2300)), rt])
    assert len(rows) <= 36
    rows.sort(key=lambda x: x[0]); book(n, ['Tenant', 'Flat', 'Since', 'Flat rent EUR'], rows, 'Tenants')
    d = {}
    for x in openpyxl.load_workbook(P(n)).active.iter_rows(min_row=2, values_only=True): d[x[1]] = x[3]
    add(FAM, 'The attached list shows the tenants of our house in Canal Street. What is the yearly rental income of the house? The rents given are monthly. Answer in euros as a whole number without thousands separator.', 1, 12 * sum(rents), 12 * sum(d.values()), 12 * rd(n)['Flat rent EUR'].sum(), n)
def f3f():
    r = random.Random(306); n = 'consignments_wk23.tsv'; rows = []; a = 0
    pl = ['LKW-11', 'LKW-14', 'LKW-20']; toll = {'Graz': 4120, 'Linz': 2785, 'Wels': 2785, 'Brno': 5340}
    for d in range(5):
        for p in pl:
            for t in (['05:30', '13:15'] if r.random() < .35 else ['06:00']):
                dest = r.choice(list(toll)); a += toll[dest]
                for _ in range(r.randint(1, 4)): rows.append([f'K{r.randint(10000,99999)}', f'2025-06-{2+d:02d}', p, t, dest, r.randint(80, 2400), cents(toll[dest])])
    r.shuffle(rows); rows = rows[:]
    wcsv(n, ['consignment', 'date', 'truck', 'departure', 'to', 'kg', 'road_toll'], rows, '\t')
    d = pd.read_csv(P(n), sep='\t'); b = d.groupby(['date', 'truck', 'departure']).road_toll.first().sum()
    assert len(rows) <= 62, len(rows)
    add(FAM, 'The attached table shows all consignments our three trucks carried in week 23. What did we spend on road tolls that week? Answer in euros with two decimals, without thousands separator.', 2, cents(a), f'{b:.2f}', f'{d.road_toll.sum():.2f}', n)
for f in (f3a, f3b, f3c, f3d, f3e, f3f): f()

# ============ 4. one party under several spellings ============
FAM = 'same_party_under_several_labels'
def f4a():
    r = random.Random(401); n = 'supplier_payments.csv'
    S = [('DE811907980', ['Metallbau Krug GmbH', 'Krug Metallbau', 'METALLBAU KRUG GMBH']), ('DE204417733', ['Norddruck KG', 'Nord-Druck KG']), ('ATU37675002', ['Alpin Logistik']), ('DE129274202', ['Farben Stoll e.K.', 'Stoll Farben']), ('DE300128844', ['Reinigung Blitz']), ('DE118560071', ['Kistner & Co.', 'Kistner u. Co. KG']), ('DE250097316', ['Elektro Maas']), ('ATU61440918', ['Wiener Papier GmbH', 'Wiener Papier Ges.m.b.H.']), ('DE277310659', ['Hansa Bürobedarf'])]
    def sp(v): return r.choice([v, v, v[:2] + ' ' + v[2:], v[:2] + ' ' + v[2:5] + ' ' + v[5:8] + ' ' + v[8:]])
    rows = []; tot = defaultdict(int)
    for i in range(45):
        v, nn = S[i % 9]; c = r.randint(40000, 250000) if len(nn) > 1 else r.choice([r.randint(100000, 330000), r.randint(20000, 90000)])
        rows.append([f'2025-{1+i//9:02d}-{r.randint(1,28):02d}', nn[(i // 9) % len(nn)], sp(v), cents(c)]); tot[v] += c
    wcsv(n, ['paid', 'payee', 'vat_id', 'amount_eur'], rows, ';')
    d = pd.read_csv(P(n), sep=';'); g = d.groupby(d.vat_id.str.replace(' ', '')).amount_eur.sum()
    th = 5000
    add(FAM, 'The attached file lists our payments to suppliers from January to May. How many suppliers received more than 5000 euros in total in that time? Answer with a whole number.', 2, sum(c > th * 100 for c in tot.values()), int((g > th).sum()), int((d.groupby('payee').amount_eur.sum() > th).sum()), n)
def f4b():
    r = random.Random(402); n = 'donations_2024.xlsx'
    dn = [(['Petra Lang', 'Petra Lang-Huber'], 'p.lang@mailo.example'), (['Dr. Ulf Benn', 'Ulf Benn'], 'benn@praxis-benn.example'), (['Mia Torres'], 'mia.t@web.example'), (['H. Osei', 'Henry Osei'], 'osei@kth.example'), (['Rosa Klein'], 'rosa.klein@web.example'), (['Rosa Klein'], 'rk1961@post.example'), (['Fam. Jäger', 'Jäger, Bodo'], 'jaeger5@post.example'), (['Sven Moll'], 'smoll@web.example'), (['Ines Paul', 'Paul Ines'], 'ines@paul.example'), (['Otto Weck'], 'otto@weck.example'), (['Lena Fritz'], 'lf@mailo.example'), (['Adil Noor', 'A. Noor'], 'noor@kth.example')]
    rows = []; tot = defaultdict(int)
    for i in range(44):
        k = i % 12; nn, e = dn[k]; v = r.choice([50, 100, 120, 150, 200])
        if k in (4, 5): v = [60, 80, 70, 40][i // 12] * 1
        if k == 4: v += 60
        rows.append([dt.date(2024, 1, 8) + dt.timedelta(days=8 * i), nn[(i // 12) % len(nn)], r.choice([e, e, e.upper(), e.capitalize(), e + ' ']), v]); tot[e] += v
    book(n, ['Date', 'Donor', 'E-mail', 'EUR'], rows, '2024')
    d = rd(n); g = d.groupby(d['E-mail'].str.strip().str.lower()).EUR.sum()
    add(FAM, 'Everyone who gave at least 400 euros over the year receives a plaque. Based on the attached donations of 2024, how many plaques do we need? Answer with a whole number.', 2, sum(v >= 400 for v in tot.values()), int((g >= 400).sum()), int((d.groupby('Donor').EUR.sum() >= 400).sum()), n)
def f4c():
    r = random.Random(403); n = 'library_loans.json'
    pp = [(417, 'Jan Kowalski'), (1180, 'Anna Schmidt'), (2093, 'Anna Schmidt'), (58, 'Fatma Demir'), (903, 'Luis Ortega'), (77, 'Greta Holm'), (1544, 'Noah Blank'), (640, 'Ida Sand'), (2201, 'Tim Rehm'), (315, 'Olga Petrova'), (1902, 'Ben Auer'), (86, 'Sofia Marek'), (733, 'Hugo Stern')]
    def nm(x): a, b = x.split(); return r.choice([x, x, f'{b}, {a}', f'{a[0]}. {b}'])
    def cd(c): return r.choice([c, f'{c:05d}', str(c), f'LB-{c:05d}'])
    rows = []; ids = []
    for i in range(40):
        c, x = pp[r.randrange(13) if i > 9 else i]; ids.append(c)
        rows.append({'date': f'2025-04-{1+i*29//40:02d}', 'card': cd(c), 'reader': nm(x), 'title_no': r.randint(3000, 9999)})
    json.dump({'branch': 'Westend', 'loans': rows}, open(P(n), 'w'), indent=1)
    L = json.load(open(P(n)))['loans']
    b = len({int(re.sub(r'\D', '', str(x['card']))) for x in L})
    add(FAM, 'The attached export holds the loans of the Westend branch in April. How many readers borrowed at least one title? Answer with a whole number.', 2, len(set(ids)), b, len({str(x['card']) for x in L}), n)
    assert b != len({x['reader'] for x in L})
def f4d():
    r = random.Random(404); n = 'account_statement.txt'
    ac = [('NL91ABNA0417164300', ['VAN DIJK BEHEER BV', 'v. Dijk Beheer', 'Van Dijk Beheer B.V.']), ('DE89370400440532013000', ['Stadtwerke Hamm']), ('FR1420041010050500013M02606', ['Ets. Morel', 'MOREL ET FILS']), ('BE68539007547034', ['De Smet NV']), ('LU280019400644750000', ['Lux Event Sarl', 'LuxEvent'])]
    rows = []; tot = defaultdict(int)
    for i in range(36):
        k = r.choice([0, 0, 1, 2, 3, 4]); ib, nn = ac[k]; c = {0: r.randint(30000, 90000), 1: r.randint(70000, 140000), 2: r.randint(30000, 70000), 3: r.randint(60000, 110000), 4: r.randint(20000, 60000)}[k]
        fi = r.choice([ib, ' '.join(ib[j:j + 4] for j in range(0, len(ib), 4))]); tot[ib] += c
        rows.append((f'{1+i*30//36:02d}.06.2025', r.choice(nn), fi, cents(c)))
    with open(P(n), 'w') as fh:
        fh.write('Statement June 2025 - incoming transfers\nbooked | from | account | EUR\n')
        for x in rows: fh.write(' | '.join(x) + '\n')
    g, h = defaultdict(float), defaultdict(float)
    for l in open(P(n)).read().splitlines()[2:]:
        _, w, ib, v = l.split(' | '); g[ib.replace(' ', '')] += float(v); h[w] += float(v)
    assert max(tot, key=tot.get) == ac[0][0], tot
    add(FAM, 'The attached statement shows the incoming transfers of June. How much did the payer with the highest total send us in that month? Answer in euros with two decimals, without thousands separator.', 2, cents(max(tot.values())), f'{max(g.values()):.2f}', f'{max(h.values()):.2f}', n)
def f4e():
    r = random.Random(425); n = 'car_park_entries.csv'
    base = [('B', 'KL', 4471), ('B', 'TX', 902), ('HH', 'AM', 1733), ('M', 'ZU', 58), ('K', 'RO', 6120), ('F', 'QE', 344), ('S', 'LW', 2905), ('B', 'NK', 4417), ('DD', 'VB', 781), ('HB', 'CE', 55), ('L', 'PT', 3360)]
    def sp(x): a, b, c = x; return r.choice([f'{a}-{b} {c}', f'{a}-{b} {c}', f'{a} {b} {c}', f'{a}{b}{c}', f'{a}-{b}-{c}'.lower()])
    rows = []; days = defaultdict(set)
    for i in range(43):
        x = base[r.choice([0, 0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10])]; d = f'2025-03-{10+i//9:02d}'; days[x].add(d)
        rows.append([d, f'{7+i%9:02d}:{r.randint(0,59):02d}', sp(x), r.choice(['P1', 'P2'])])
    wcsv(n, ['date', 'time', 'plate', 'deck'], rows)
    d = pd.read_csv(P(n)); N = d.plate.str.upper().str.replace(r'[^A-Z0-9]', '', regex=True)
    add(FAM, 'A season ticket is offered to every car that used our car park on at least three different days of the week. According to the attached entry log, to how many cars is it offered? Answer with a whole number.', 2, sum(len(v) >= 3 for v in days.values()), int((d.groupby(N).date.nunique() >= 3).sum()), int((d.groupby('plate').date.nunique() >= 3).sum()), n)
def f4f():
    r = random.Random(406); n = 'customer_turnover.xlsx'
    ac = {1187: 'Brandl Foods', 2041: 'Gourmet Depot', 1312: 'Keller Trade', 1450: 'Ostsee Fisch', 1609: 'Hof Lindau', 2077: 'Delikat 24', 1733: 'Marktkauf Rau'}
    root = {2041: 1187, 2077: 1609}; rows = []; tot = defaultdict(int)
    for i in range(49):
        k = list(ac)[i % 7]; v = r.randint(60, 180) * (13 if k == 1312 else 9 if k not in (1187, 2041) else 10); rows.append([f'2025-{1+i//7:02d}', k, ac[k], v]); tot[root.get(k, k)] += v
    book(n, ['Month', 'Account', 'Customer', 'Net EUR'], rows, 'Turnover', extra=[('Master data', [['Account', 'Customer', 'Registered office', 'Register no.', 'Terms']] + [[k, ac[k], c, h, t] for k, c, h, t in [(1187, 'Passau', 'HRB 5520', '30 d'), (1312, 'Trier', 'HRB 40771', '14 d'), (1450, 'Wismar', 'HRB 1209', '30 d'), (1609, 'Lindau', 'HRB 8834', '14 d'), (1733, 'Fulda', 'HRB 2716', '30 d'), (2041, 'Passau', 'HRB 5520', '30 d'), (2077, 'Lindau', 'HRB 8834', '14 d')]] + [[], ['2041 and 2077 are second accounts (online orders) of companies we already serve.']])])
    assert max(tot, key=tot.get) == 1187, tot
    d = rd(n); m = rd(n, sheet_name='Master data').dropna(subset=['Customer']); key = dict(zip(m.Account.astype(int), m['Registered office'] + m['Register no.']))
    add(FAM, 'According to the attached workbook, how much net turnover did we make from January to July with our largest customer? Answer in euros as a whole number without thousands separator.', 3, max(tot.values()), int(d.groupby(d.Account.map(key))['Net EUR'].sum().max()), int(d.groupby('Customer')['Net EUR'].sum().max()), n)
for f in (f4a, f4b, f4c, f4d, f4e, f4f): f()

# ============ 5. rows are running totals, not increments ============
FAM = 'running_totals_not_increments'
def f5a():
    r = random.Random(501); n = 'till_feed.csv'; rows = []; a = 0
    for d in range(5):
        cur = {t: 0 for t in 'ABC'}
        for h in ('11:00', '14:00', '17:00', '20:00'):
            for t in 'ABC':
                if t == 'C' and d == 2: continue
                cur[t] += r.randint(4000, 42000); rows.append([f'2025-05-{5+d:02d}', h, 'Till ' + t, cents(cur[t])])
        a += sum(cur.values())
    wcsv(n, ['date', 'time', 'till', 'takings'], rows, post=['# X-reports pulled automatically; Z-report (reset) after closing at 20:00'])
    d = pd.read_csv(P(n), comment='#')
    add(FAM, 'The attached feed comes from the tills of our shop for one week. What were the takings of the shop in that week? Answer in euros with two decimals, without thousands separator.', 2, cents(a), f"{d.groupby(['date','till']).takings.max().sum():.2f}", f'{d.takings.sum():.2f}', n)
def f5b():
    r = random.Random(502); n = 'certificates_depot_build.xlsx'; rows = []; cur = {}; tr = ['Earthworks', 'Concrete', 'Roofing', 'Electrics', 'Plumbing']
    for k in range(1, 7):
        for i, t in enumerate(tr):
            if k > i * .7 and not (t == 'Earthworks' and k > 3):
                cur[t] = cur.get(t, 0) + r.randint(20, 190) * 100; rows.append([f'{t[:2].upper()}-{k}', dt.date(2025, k, 28), t, cur[t]])
    book(n, ['Certificate', 'Date', 'Trade', 'Work done EUR'], rows, 'Certificates', extra=[('Contract', [['Client', 'Depot GmbH'], ['Retention', 'none'], ['Valuation', 'gross valuation, previous certificates not deducted']])])
    d = rd(n); b = d.sort_values('Date').groupby('Trade')['Work done EUR'].last().sum()
    add(FAM, 'The attached workbook lists the certificates for a building project from January to June. What is the value of the work done on the project by the end of June? Answer in euros as a whole number without thousands separator.', 2, sum(cur.values()), b, d['Work done EUR'].sum(), n)
def f5c():
    r = random.Random(503); n = 'van_telemetry.json'; rows = []; a = D(0)
    for v in ('V1', 'V2', 'V3', 'V4'):
        t = dt.datetime(2025, 9, 1, 6, 10)
        for trip in range(3):
            f = 0; t += dt.timedelta(minutes=r.randint(40, 90))
            for k in range(r.randint(3, 6)):
                f += r.randint(8, 41); t += dt.timedelta(minutes=r.choice([12, 15, 18])); rows.append({'t': t.isoformat(timespec='minutes'), 'van': v, 'trip': trip + 1, 'fuel_l': f / 10})
            a += D(f) / 10
    rows.sort(key=lambda x: (x['t'], x['van']))
    json.dump({'records': rows, 'signals': {'fuel_l': 'ECU fuel counter, zeroed at ignition on', 'trip': 'ignition cycle of the day'}}, open(P(n), 'w'), indent=0)
    m = {}
    for x in json.load(open(P(n)))['records']: m[x['van'], x['trip']] = x['fuel_l']
    add(FAM, 'The attached export comes from the trackers of our four vans for 1 September. How much fuel did the vans use on that day altogether? Answer in litres with one decimal.', 2, f'{a:.1f}', f'{sum(m.values()):.1f}', f"{sum(x['fuel_l'] for x in rows):.1f}", n)
def f5d():
    r = random.Random(504); n = 'brochure_downloads.csv'; rows = []; cur = {'de': 0, 'en': 0, 'fr': 0}; inc = []
    d0 = dt.date(2025, 3, 31)
    for w in range(18):
        d = d0 + dt.timedelta(days=7 * w - 0)
        for l in cur:
            x = r.randint(5, 80); cur[l] += x; rows.append([d.isoformat(), l, cur[l]]); inc.append((d, x))
    wcsv(n, ['report_date', 'language', 'downloads'], rows, ';', pre=('Brochure "Heat pumps", online since 24 March 2025; weekly report on Mondays; counter status at 08:00',))
    # reports of 5 May (excl.) .. 2 June (incl.) -> between two report dates
    a = sum(x for d, x in inc if dt.date(2025, 5, 5) < d <= dt.date(2025, 6, 2))
    d = pd.read_csv(P(n), sep=';', skiprows=1); p = d.pivot(index='report_date', columns='language', values='downloads').sum(axis=1)
    add(FAM, 'The attached file has the weekly download reports of a brochure. How many times was the brochure downloaded, in all languages together, in the four weeks between the report of 5 May and the report of 2 June 2025? Answer with a whole number.', 2, a, int(p['2025-06-02'] - p['2025-05-05']), int(d[(d.report_date > '2025-05-05') & (d.report_date <= '2025-06-02')].downloads.sum()), n)
def f5e():
    r = random.Random(505); n = 'payroll_extract.txt'; nm = ['Adler', 'Busch', 'Clemens', 'Dorn', 'Engel']; cur = dict.fromkeys(nm, 0); rows = []; a = 0
    for mth in range(1, 11):
        for x in nm:
            if x == 'Engel' and mth < 4: continue
            if x == 'Busch' and mth > 8: continue
            v = r.randint(38000, 91000); cur[x] += v; rows.append((f'{mth:02d}/2024', x, cents(cur[x])))
            if mth in (7, 8, 9): a += v
    with open(P(n), 'w') as fh:
        fh.write('PAYROLL EXTRACT 2024\nmonth    name      income tax\n')
        for x in rows: fh.write(f'{x[0]}  {x[1]:<9} {x[2]:>9}\n')
        fh.write('Fields: tax = YTD per payslip, EUR\n')
    g = defaultdict(dict)
    for l in open(P(n)):
        m = re.match(r'(\d\d)/2024\s+(\w+)\s+([\d.]+)', l)
        if m: g[m[2]][int(m[1])] = round(float(m[3]) * 100)
    b = sum(v[max(k for k in v if k <= 9)] - v.get(6, 0) for v in g.values())
    add(FAM, 'From the attached payroll extract: how much income tax was withheld from the staff in the third quarter of 2024? Answer in euros with two decimals, without thousands separator.', 2, cents(a), cents(b), cents(sum(v[k] for v in g.values() for k in (7, 8, 9) if k in v)), n)
def f5f():
    r = random.Random(506); n = 'district_doses.xlsx'; ds = ['North', 'East', 'South', 'West', 'Centre']; cur = dict.fromkeys(ds, 0); rows = []; per = {}
    for w in range(40, 51):
        s = 0
        for x in ds: v = r.randint(40, 260) + (90 if w == 44 else 0); cur[x] += v; s += v; rows.append([w, x, cur[x]])
        per[w] = s
    book(n, ['Week', 'District', 'Doses'], rows, 'Reports', extra=[('Guide', [['Who reports', 'district health office, Fridays'], ['Doses', 'state at Friday noon, campaign start = Monday of week 40, all starting from 0']])])
    a = max(per.values()); p = rd(n).groupby('Week').Doses.sum()
    assert sorted(per.values())[-2] < a
    add(FAM, 'The attached workbook has the weekly reports of five districts on a vaccination campaign. How many doses were given in the five districts together in the busiest week? Answer with a whole number.', 2, a, int(p.diff().fillna(p).max()), int(p.max()), n)
for f in (f5a, f5b, f5c, f5d, f5e, f5f): f()

# ============ output ============
assert len(OUT) == 30
random.Random(77).shuffle(OUT); fam = OrderedDict()
with open(os.path.join(HERE, 'questions.jsonl'), 'w', encoding='utf-8') as fh:
    for i, o in enumerate(OUT, 1):
        tid = f"q{i:02d}-{hashlib.sha1(('s'+str(i)).encode()).hexdigest()[:4]}"; fam[tid] = o['fam']
        fh.write(json.dumps({'task_id': tid, 'Question': o['q'], 'Level': o['level'], 'Final answer': o['ans'], 'file_name': o['file']}, ensure_ascii=False) + '\n')
json.dump(fam, open(os.path.join(HERE, 'families.json'), 'w'), indent=1)
for o in sorted(OUT, key=lambda o: o['fam']): print(f"{o['fam'][:22]:22} {o['file']:34} true={o['ans']:>10} naive={o['naive']:>10}")
