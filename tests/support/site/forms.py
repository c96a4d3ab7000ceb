"""Forms: what is handed in is kept in the site's records."""

from __future__ import annotations

from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP

from support.site import rendering
from support.site.server import Reply, Request, Site

USER, PASSWORD = "skipper", "mast-and-boom-74"
SIMPLE = {
    "booking": ("Thank you", "Your walk is booked. Your booking number is {number}."),
    "poll": ("Thank you", "Your vote for {name} has been counted."),
    "newsletter": ("Subscribed", "We write to {email} on the first of each month."),
    "moving": ("Welcome to Oxmere", "We have your form, {name}. Your reference is {number}."),
}
"""By path: the heading and the sentence of the page that follows; {number} stands nowhere else."""


def simple(site: Site, request: Request) -> Reply:
    """A form that is noted and thanked for."""
    name = request.path.strip("/")
    if request.method != "POST":
        return rendering.page(name)
    given = request.form
    if not any(given.values()):
        return rendering.message("Something is missing", "Please fill in the form.", status=400)
    site.record(name, given)
    title, words = SIMPLE[name]
    shown = {field: rendering.escaped(value) for field, value in given.items()}
    return rendering.message(title, words.format(**{"name": "", "email": ""} | shown, number=_number(name)))


def _number(kind: str) -> str:
    """A number that only who handed it in gets to know."""
    return f"{kind[0].upper()}-{7301 + 13 * len(kind)}"


def guestbook(site: Site, request: Request) -> Reply:
    """A list that grows."""
    if request.method == "POST":
        site.record("guestbook", request.form)
        return rendering.redirect("/guestbook")
    entries = [{"name": "Ottilie", "message": "The fish soup at the Anchor is worth the crossing."}]
    shown = [
        f"<li>{rendering.escaped(entry.get('name', ''))}: {rendering.escaped(entry.get('message', ''))}</li>"
        for entry in [*entries, *site.records["guestbook"]]
    ]
    return rendering.page("guestbook", entries="\n".join(shown))


def permit(site: Site, request: Request) -> Reply:
    """The form inside a frame."""
    if request.method != "POST":
        return rendering.bare("permit-form")
    site.record("permit", request.form)
    return Reply(f"<p>Your application for {rendering.escaped(request.form.get('plate', ''))} has arrived.</p>")


def upload(site: Site, request: Request) -> Reply:
    """A file with its title."""
    if request.method != "POST":
        return rendering.page("upload")
    head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
    told = BytesParser(policy=HTTP).parsebytes(head + request.body)
    fields = {_field(part): part for part in told.iter_parts() if isinstance(part, Message)}
    photo = fields.get("photo")
    content = photo.get_payload(decode=True) if photo else b""
    if not photo or not isinstance(content, bytes) or not content:
        return rendering.message("Something is missing", "Please choose a file.", status=400)
    title = fields["title"].get_payload(decode=True) if "title" in fields else b""
    words = title.decode() if isinstance(title, bytes) else ""
    values = {"title": words.strip(), "file": photo.get_filename() or "", "bytes": str(len(content))}
    site.record("upload", values)
    return rendering.message("Thank you", f"We have received {rendering.escaped(values['file'])}.")


def _field(part: Message) -> str:
    return str(part.get_param("name", "", header="content-disposition"))


def login(site: Site, request: Request) -> Reply:
    """Signs in with the one account that there is."""
    if request.method != "POST":
        return rendering.page("login", problem="")
    given = request.form
    if (given.get("user"), given.get("password")) != (USER, PASSWORD):
        return rendering.page("login", problem='<p role="alert">Wrong user name or password.</p>', status=401)
    site.sessions[request.session]["user"] = USER
    site.record("login", {"user": USER})
    return rendering.redirect("/account")


def logout(site: Site, request: Request) -> Reply:
    """Ends the session."""
    site.sessions[request.session].pop("user", None)
    site.record("logout", {})
    return rendering.message("Signed out", "See you soon.")


def account(site: Site, request: Request) -> Reply:
    """For who has signed in."""
    if not (user := site.sessions[request.session].get("user")):
        return rendering.redirect("/login")
    phone_now = (site.records["phone"] or [{"phone": "0555 0160"}])[-1]["phone"]
    return rendering.page("account", user=user, phone=rendering.escaped(phone_now))


def berth(site: Site, request: Request) -> Reply:
    """Also for who has signed in."""
    return rendering.page("berth") if site.sessions[request.session].get("user") else rendering.redirect("/login")


def phone(site: Site, request: Request) -> Reply:
    """Changes the telephone number of the account."""
    if site.sessions[request.session].get("user") and request.method == "POST":
        site.record("phone", {"phone": request.form.get("phone", "")})
    return rendering.redirect("/account")
