"""News on several pages, a search over the site, a shop with a basket."""

from __future__ import annotations

import re
from typing import Any

from support.site import rendering
from support.site.rendering import escaped
from support.site.server import Reply, Request, Site

A_PAGE = 5


def news(site: Site, request: Request) -> Reply:
    """Titles, five on a page."""
    articles = rendering.data("news")
    last = -(-len(articles) // A_PAGE)
    asked = request.query.get("page", "1")
    number = int(asked) if asked.isdecimal() and 1 <= int(asked) <= last else 1
    shown = articles[(number - 1) * A_PAGE : number * A_PAGE]
    items = [f'<li>{a["date"]}: <a href="/news/{a["slug"]}">{escaped(a["title"])}</a></li>' for a in shown]
    turns = [_turn(number - 1, "Newer") if number > 1 else "", _turn(number + 1, "Older") if number < last else ""]
    body = f"<h1>News</h1>\n<ul>{''.join(items)}</ul>\n<p>Page {number} of {last}. {' '.join(filter(None, turns))}</p>"
    return rendering.framed("<title>News</title>", body)


def _turn(number: int, words: str) -> str:
    return f'<a href="/news?page={number}">{words} news</a>'


def article(site: Site, request: Request) -> Reply:
    """One article."""
    slug = request.path.removeprefix("/news/")
    found = next((a for a in rendering.data("news") if a["slug"] == slug), None)
    if found is None:
        return rendering.message("Not found", "There is no such article.", status=404)
    title, text = escaped(found["title"]), "".join(f"<p>{escaped(p)}</p>" for p in found["text"])
    head = f'<title>{title}</title><meta property="article:published_time" content="{found["date"]}">'
    return rendering.framed(head, f"<article><h1>{title}</h1><p>{found['date']}</p>{text}</article>")


def search(site: Site, request: Request) -> Reply:
    """Pages in which every word of the query stands."""
    query = request.query.get("q", "")
    hits = ""
    if words := re.findall(r"\w+", query.lower()):
        site.record("search", {"q": query})
        found = [(path, title) for path, title, text in _index() if all(word in text for word in words)]
        items = "".join(f'<li><a href="{path}">{escaped(title)}</a></li>' for path, title in found)
        hits = f"<p>{len(found)} pages found for {escaped(query)}.</p><ul>{items}</ul>"
    return rendering.page("search", query=escaped(query), hits=hits)


def _index() -> list[tuple[str, str, str]]:
    """Path, title and text in lower case of what can be found."""
    listed = [(f"/news/{a['slug']}", a["title"], " ".join([a["title"], *a["text"]])) for a in rendering.data("news")]
    listed += [(f"/shop/{p['id']}", p["name"], f"{p['name']} {p['text']}") for p in rendering.data("products")]
    for name in ("ferry", "harbour", "lighthouse", "museum", "council", "imprint", "visitors", "permit"):
        source = rendering.text(f"pages/{name}.html")
        title = re.findall("<title>(.*)</title>", source)[0]
        listed.append((f"/{name}", title, re.sub(r"(?s)<script.*?</script>|<[^>]*>", " ", source)))
    return [(path, title, text.lower()) for path, title, text in listed]


def shop(site: Site, request: Request) -> Reply:
    """What is on sale, chosen by category and put in order."""
    products = rendering.data("products")
    chosen, order = request.query.get("category", ""), request.query.get("order", "")
    shown = [p for p in products if not chosen or p["category"] == chosen]
    if order:
        shown.sort(key=lambda p: float(p["price"]), reverse=order == "dear")
    rows = [f'<tr><td><a href="/shop/{p["id"]}">{escaped(p["name"])}</a></td><td>{p["price"]}</td></tr>' for p in shown]
    categories = ["", *dict.fromkeys(p["category"] for p in products)]
    body = (
        '<h1>Shop</h1><form action="/shop">'
        f"<label>Category {_select('category', [(c, c or 'all') for c in categories], chosen)}</label>"
        "<label>Order by "
        f"{_select('order', [('', 'name'), ('cheap', 'lowest price first'), ('dear', 'highest price first')], order)}"
        '</label><button>Show</button></form><p><a href="/cart">Your basket</a></p>'
        f"<table><tr><th>Article</th><th>Price</th></tr>{''.join(rows)}</table>"
    )
    return rendering.framed("<title>Shop</title>", body)


def _select(name: str, options: list[tuple[str, str]], chosen: str) -> str:
    shown = [
        f'<option value="{v}"{" selected" if v == chosen else ""}>{escaped(words)}</option>' for v, words in options
    ]
    return f'<select name="{name}">{"".join(shown)}</select>'


def product(site: Site, request: Request) -> Reply:
    """One article, with its button."""
    number = request.path.removeprefix("/shop/")
    found = next((p for p in rendering.data("products") if str(p["id"]) == number), None)
    if found is None:
        return rendering.message("Not found", "There is no such article.", status=404)
    button = "<button>Add to basket</button>" if found["stock"] else "<button disabled>Sold out</button>"
    body = (
        f"<h1>{escaped(found['name'])}</h1><p>{escaped(found['text'])}</p>"
        f"<dl><dt>Price</dt><dd>{found['price']}</dd><dt>In stock</dt><dd>{found['stock']}</dd></dl>"
        f'<form method="post" action="/cart"><input type="hidden" name="id" value="{number}">'
        f'<label>Quantity <input name="quantity" type="number" value="1" min="1"></label>{button}</form>'
    )
    return rendering.framed(f"<title>{escaped(found['name'])}</title>", body)


def cart(site: Site, request: Request) -> Reply:
    """The basket of the session."""
    basket: dict[str, int] = site.sessions[request.session].setdefault("basket", {})
    if request.method == "POST":
        given = request.form
        name = next(p["name"] for p in rendering.data("products") if str(p["id"]) == given["id"])
        basket[name] = basket.get(name, 0) + int(given.get("quantity") or 1)
        site.record("cart", {"name": name, "quantity": given.get("quantity") or "1"})
        return rendering.redirect("/cart")
    prices = {p["name"]: float(p["price"]) for p in rendering.data("products")}
    rows = "".join(f"<tr><td>{escaped(name)}</td><td>{many}</td></tr>" for name, many in basket.items())
    total = sum(prices[name] * many for name, many in basket.items())
    body = (
        f"<h1>Your basket</h1><table><tr><th>Article</th><th>Quantity</th></tr>{rows}</table><p>Total: {total:.2f}</p>"
        '<form method="post" action="/order"><label>Deliver to <input name="address"></label>'
        "<button>Order</button></form>"
    )
    return rendering.framed("<title>Your basket</title>", body)


def order(site: Site, request: Request) -> Reply:
    """Orders what is in the basket."""
    basket: dict[str, Any] = site.sessions[request.session].get("basket", {})
    if request.method != "POST" or not basket:
        return rendering.message("Nothing to order", "Your basket is empty.", status=400)
    listed = ", ".join(f"{many} x {name}" for name, many in basket.items())
    site.record("order", {"address": request.form.get("address", ""), "articles": listed})
    basket.clear()
    return rendering.message("Thank you for your order", "Your order number is S-89.")
