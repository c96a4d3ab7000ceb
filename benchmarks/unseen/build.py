"""spec_*.txt -> solve_<id>.py + *.jsonl (answers are what the solvers print: line 1 answer, line 2 the 'again' answer)."""
import sys, json, subprocess, os
from common import parse_spec, path
from concurrent.futures import ThreadPoolExecutor
only = sys.argv[2:] 
def run(name):
    spec = parse_spec(f'spec_{name}.txt'); rows = []
    old = {}
    if os.path.exists(path(f'{name}.jsonl')):
        old = {json.loads(l)['id']: json.loads(l) for l in open(path(f'{name}.jsonl'))}
    for c in spec:
        head = f'# solver of {c["id"]} ({c["kind"]}, {c["level"]})\nfrom common import path, question, crawl\n'
        open(path(f'solve_{c["id"]}.py'), 'w').write(head + c['code'])
        if only and c['id'] not in only and c['id'] in old: rows.append(old[c['id']]); continue
        p = subprocess.run([sys.executable, path(f'solve_{c["id"]}.py')], capture_output=True, text=True, cwd=path('.'), timeout=300)
        if p.returncode: print('FAIL', c['id'], p.stderr[-900:]); continue
        lines = p.stdout.strip().split('\n')
        ans = lines[0]; ag = None
        if c['again']:
            assert len(lines) > 1, c['id']; ag = {'question': c['again'], 'answer': lines[1]}
        f = None if c['file'] == '-' else c['file'].split() 
        if f and len(f) == 1: f = f[0]
        rows.append(dict(id=c['id'], level=c['level'], kind=c['kind'], question=c['q'], file=f, answer=ans, tolerance=None if c['tol']=='-' else float(c['tol']), again=ag))
        print(c['id'], '=>', lines)
    with open(path(f'{name}.jsonl'), 'w') as o:
        for r in rows: o.write(json.dumps(r, ensure_ascii=False) + '\n')
    print(name, len(rows))
run(sys.argv[1])
