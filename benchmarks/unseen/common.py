"""Helpers shared by the solvers: where files are, and the text of a question as it stands in the spec."""
import os, re
HERE = os.path.dirname(os.path.abspath(__file__))
def path(f): return os.path.join(HERE, f)
_specs = ['spec_ladder.txt', 'spec_capable.txt', 'spec_tools.txt']
def parse_spec(fn):
    out = []; cur = None; mode = None
    for line in open(path(fn), encoding='utf-8'):
        line = line.rstrip('\n')
        m = re.match(r'@@ (\S+) \| (\w+) \| (\w+) \| (.*?) \| (.*)$', line)
        if m:
            cur = dict(id=m[1], level=m[2], kind=m[3], file=m[4], tol=m[5], q=[], again=[], code=[]); out.append(cur); mode = 'q'; continue
        if line == '@@again': mode = 'again'; continue
        if line == '@@code': mode = 'code'; continue
        if cur is None: continue
        cur[mode].append(line)
    for c in out:
        c['q'] = '\n'.join(c['q']).strip(); c['again'] = '\n'.join(c['again']).strip(); c['code'] = '\n'.join(c['code']).rstrip() + '\n'
    return out
def question(qid, again=False):
    for s in _specs:
        if os.path.exists(path(s)):
            for c in parse_spec(s):
                if c['id'] == qid: return c['again'] if again else c['q']
    raise KeyError(qid)
def crawl(start):
    """Follow relative links from a start page of the little site; {address under site/: bytes}."""
    import posixpath
    from bs4 import BeautifulSoup
    seen = {}; todo = [start]
    while todo:
        u = todo.pop()
        if u in seen: continue
        seen[u] = open(path('site/' + u), 'rb').read()
        if u.endswith('.html'):
            for a in BeautifulSoup(seen[u], 'html.parser').find_all('a', href=True):
                if '://' not in a['href']: todo.append(posixpath.normpath(posixpath.join(posixpath.dirname(u), a['href'].split('#')[0])))
    return seen
