"""Which addresses are connected to, however they are written, and whoever changes them meanwhile."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from agent.web.guard import AddressGuard, Resolver
from agent.web.http import Http
from agent.web.page import WebProblem
from support.public_web import get
from support.web_server import Answer, WebServer

PRIVATE = (
    "127.0.0.1", "127.8.8.8", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1",
    "100.64.0.1", "100.127.255.254", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.1.1", "198.51.100.1",
    "203.0.113.9", "192.88.99.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255",
    "::1", "::", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "fc00::1", "fd12:3456::1",
    "fec0::1", "ff02::1", "100::1", "2001:db8::1", "3fff::1", "5f00::1", "2001::1", "2001:10::1",
    "64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:7f00:1::", "2002:c0a8:101::1",
    "2001:0:53aa:64c:0:7fff:80ff:fffe", "2400:cb00::5efe:10.0.0.1", "2400:cb00::200:5efe:192.168.0.1",
)  # fmt: skip
SECRET = (
    "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "fd00:ec2::254", "fd20:ce::254", "fe80::a9fe:a9fe", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1", "::169.254.169.254", "::ffff:168.63.129.16",
)  # fmt: skip
PUBLIC = (
    "8.8.8.8", "1.1.1.1", "93.184.216.34", "172.15.255.255", "172.32.0.1", "100.63.255.255", "100.128.0.1",
    "2606:4700::1111", "2a00:1450:4001::200e", "2400:cb00::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
)  # fmt: skip


def _names(**hosts: list[str]) -> Resolver:
    async def resolve(host: str, port: int) -> list[str]:
        if (found := hosts.get(host.replace(".", "_").replace("-", "_"))) is None:
            raise socket.gaierror(-2, "Name or service not known")
        return found

    return resolve


@pytest.mark.parametrize("address", [*PRIVATE, *SECRET])
def test_addresses_off_the_public_web_are_refused(address: str) -> None:
    assert AddressGuard().refuses(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_not(address: str) -> None:
    assert not AddressGuard().refuses(ip_address(address))


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_may_be_allowed(address: str) -> None:
    assert not AddressGuard(allow_private=True).refuses(ip_address(address))


@pytest.mark.parametrize("address", SECRET)
def test_addresses_of_credentials_may_not(address: str) -> None:
    assert AddressGuard(allow_private=True).refuses(ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "0x7f.1", "127.1", "127.0.1", "0",
        "localhost", "LOCALHOST", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:1]",
        "[::127.0.0.1]", "%31%32%37.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "ⓛocalhost", "127.0.0.1.",
    ],
)  # fmt: skip
async def test_no_way_of_writing_this_machine_leads_to_it(web: WebServer, host: str) -> None:
    """Decimal, octal, hexadecimal, short, full-width, mapped: what counts is the address that would be connected to."""
    web.page("/secret", "here")
    client = Http()
    with pytest.raises(WebProblem) as caught:
        await get(client, f"http://{host}:{web.port}/secret")
    assert caught.value.reason in ("private_address", "dns", "refused_address")
    assert web.requests == []
    await client.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com@127.0.0.1/", "http://127.0.0.1:80@example.com/", "http://user:word@example.com/",
        "http://example.com\\@127.0.0.1/", "ftp://example.com/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x",
        "javascript:alert(1)", "data:text/html,hi", "//example.com", "example.com", "http://", "http:///path", "http://.",
        "http://exa\u202emple.com/", "http://example.com:99999/",
        "http://[::1/#x", "http://[::1/", "http://a\nb/", "http://\u00ad/", "",
    ],
)  # fmt: skip
async def test_addresses_that_are_made_to_mislead_are_refused(url: str) -> None:
    client = Http(allow_private=True, resolve=_names(example_com=["127.0.0.1"]))
    with pytest.raises(WebProblem) as caught:
        await get(client, url)
    assert caught.value.reason == "refused_address"
    assert "word" not in caught.value.message
    await client.aclose()


async def test_a_redirect_to_a_private_address_is_refused(web: WebServer) -> None:
    """The guard lets only the first host through, by way of a resolver that calls this machine public."""
    web.page("/inner", "secret")
    for target in ("http://127.0.0.1:{0}/inner", "http://localhost:{0}/inner", "//127.0.0.1:{0}/inner"):
        web.page("/go", "", status=302, headers={"Location": target.format(web.port)})
        client, _ = _through_one_door(web)
        with pytest.raises(WebProblem) as caught:
            await get(client, f"http://door.example:{web.port}/go")
        assert caught.value.reason == "private_address"
        assert "/inner" not in web.paths()
        await client.aclose()


def _through_one_door(web: WebServer) -> tuple[Http, list[str]]:
    """A client whose guard lets `door.example` pass to the server, and what was looked up."""
    looked_up: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"]

    client = Http(resolve=resolve)
    strict = client.guard.addresses

    async def addresses(host: str, port: int) -> list[str]:
        return ["127.0.0.1"] if host == "door.example" else await strict(host, port)

    client.guard.addresses = addresses  # type: ignore[method-assign]  # there is no public address to serve at
    return client, looked_up


async def test_a_name_that_changes_its_address_is_seen_where_it_is_connected_to(web: WebServer) -> None:
    """First a public address, then this machine: no lookup is trusted for longer than its connection."""
    web.page("/a", "secret")
    answers = [["93.184.216.34"], ["127.0.0.1"]]

    async def resolve(host: str, port: int) -> list[str]:
        return answers.pop(0) if len(answers) > 1 else answers[0]

    guard = AddressGuard(resolve=resolve)
    assert await guard.addresses("rebind.example", 80) == ["93.184.216.34"]
    client = Http(resolve=resolve)
    with pytest.raises(WebProblem, match=r"127\.0\.0\.1") as caught:
        await get(client, f"http://rebind.example:{web.port}/a")
    assert caught.value.reason == "private_address"
    assert web.requests == []
    await client.aclose()


async def test_a_lookup_is_made_once_for_each_connection(web: WebServer) -> None:
    """What was checked is what is connected to: the name is not looked up a second time in between."""
    web.page("/a", "text")
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    client = Http(allow_private=True, robots=False, resolve=resolve)
    response = await get(client, f"http://name.example:{web.port}/a")
    assert (response.text, asked) == ("text", ["name.example"])
    assert web.requests[0].headers["host"] == f"name.example:{web.port}"
    await client.aclose()


async def test_of_several_addresses_only_the_public_ones_are_left() -> None:
    guard = AddressGuard(resolve=_names(mixed_example=["10.0.0.1", "8.8.8.8", "::1", "8.8.8.8", "fe80::1%eth0"]))
    assert await guard.addresses("mixed.example", 80) == ["8.8.8.8"]


async def test_the_message_says_how_to_allow_it_except_where_nothing_does() -> None:
    guard = AddressGuard(resolve=_names(inner_example=["10.0.0.1"], cloud_example=["169.254.169.254"]))
    with pytest.raises(WebProblem, match=r"inner\.example \(10\.0\.0\.1\)") as caught:
        await guard.addresses("inner.example", 80)
    assert "--allow-private" in caught.value.remedy
    with pytest.raises(WebProblem, match="credentials") as caught:
        await guard.addresses("cloud.example", 80)
    assert "--allow-private" not in caught.value.remedy


async def test_an_api_is_guarded_too_and_its_redirects_are_not_followed(web: WebServer) -> None:
    web.route("/api", lambda _: Answer(302, b"", {"Location": "http://127.0.0.1/"}))
    closed = Http()
    with pytest.raises(WebProblem) as caught:
        await closed.ask_json(f"{web.url}/api", {}, {"Authorization": "Bearer key"})
    assert (caught.value.reason, web.requests) == ("private_address", [])
    opened = Http(allow_private=True)
    with pytest.raises(WebProblem, match="302"):
        await opened.ask_json(f"{web.url}/api", {}, {"Authorization": "Bearer key"})
    assert web.paths() == ["/api"]
    await closed.aclose()
    await opened.aclose()


@pytest.mark.parametrize("proxy", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_proxy_of_the_environment_is_used_and_private_addresses_are_still_refused(
    web: WebServer, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    """What the proxy connects to is its own affair; what this machine knows of the host is looked at first."""
    monkeypatch.setenv(proxy, web.url)
    web.page("http://public.example/a", "through the proxy")
    client = Http(robots=False, resolve=_names(public_example=["8.8.8.8"], inner_example=["10.0.0.1"]))
    assert (await get(client, "http://public.example/a")).text == "through the proxy"
    web.page("http://unknown.example/a", "known to the proxy alone")
    assert (await get(client, "http://unknown.example/a")).text == "known to the proxy alone"
    for url in ("http://inner.example/a", "http://169.254.169.254/latest", "http://2130706433/"):
        with pytest.raises(WebProblem) as caught:
            await get(client, url)
        assert caught.value.reason in ("private_address", "dns")
    assert web.paths() == ["http://public.example/a", "http://unknown.example/a"]
    await client.aclose()


async def test_a_proxy_is_left_aside_for_the_hosts_of_no_proxy(web: WebServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "near.example")
    web.page("/a", "directly")
    client = Http(allow_private=True, robots=False, resolve=_names(near_example=["127.0.0.1"]))
    assert (await get(client, f"http://near.example:{web.port}/a")).text == "directly"
    await client.aclose()


@pytest.mark.parametrize(
    ("entry", "url", "is_opened"),
    [
        ("127.0.0.1", "http://127.0.0.1:{0}/a", True),
        ("127.0.0.1", "http://2130706433:{0}/a", True),
        ("127.0.0.1", "http://other.example:{0}/a", True),
        ("127.0.0.0/8", "http://127.0.0.1:{0}/a", True),
        ("127.0.0.1:{0}", "http://127.0.0.1:{0}/a", True),
        ("http://127.0.0.1:{0}/", "http://127.0.0.1:{0}/a", True),
        ("Inner.example.", "http://inner.example:{0}/a", True),
        ("inner.example:{0}", "http://INNER.example:{0}/a", True),
        ("bücher.example", "http://bücher.example:{0}/a", True),
        ("127.0.0.2", "http://127.0.0.1:{0}/a", False),
        ("10.0.0.0/8", "http://127.0.0.1:{0}/a", False),
        ("::1", "http://127.0.0.1:{0}/a", False),
        ("127.0.0.1:1", "http://127.0.0.1:{0}/a", False),
        ("http://127.0.0.1", "http://127.0.0.1:{0}/a", False),
        ("inner.example", "http://other.example:{0}/a", False),
        ("inner.example", "http://sub.inner.example:{0}/a", False),
        ("inner.example", "http://127.0.0.1:{0}/a", False),
    ],
)
async def test_a_single_address_may_be_allowed(web: WebServer, entry: str, url: str, is_opened: bool) -> None:
    web.page("/a", "text")
    here = ["127.0.0.1"]
    names = _names(inner_example=here, other_example=here, sub_inner_example=here, xn__bcher_kva_example=here)
    client = Http(allow_addresses=(entry.format(web.port),), robots=False, resolve=names)
    if is_opened:
        assert (await get(client, url.format(web.port))).text == "text"
    else:
        with pytest.raises(WebProblem, match="allow_addresses") as caught:
            await get(client, url.format(web.port))
        assert (caught.value.reason, web.requests) == ("private_address", [])
    await client.aclose()


@pytest.mark.parametrize("address", SECRET)
def test_no_entry_allows_addresses_of_credentials(address: str) -> None:
    guard = AddressGuard(allow_addresses=("0.0.0.0/0", "::/0", "cloud.example", address))
    assert guard.refuses(ip_address(address), "cloud.example", 80)


@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:1/inner", "http://localhost:{0}/inner", "http://127.0.0.2:{0}/inner"]
)
async def test_a_redirect_from_an_allowed_address_leads_to_no_other(web: WebServer, target: str) -> None:
    web.page("/go", "", status=302, headers={"Location": target.format(web.port)})
    client = Http(
        allow_addresses=(f"inner.example:{web.port}",), robots=False, resolve=_names(inner_example=["127.0.0.1"])
    )
    with pytest.raises(WebProblem) as caught:
        await get(client, f"http://inner.example:{web.port}/go")
    assert caught.value.reason in ("private_address", "dns")
    assert web.paths() == ["/go"]
    await client.aclose()


async def test_a_name_that_changes_from_an_allowed_address_to_another_is_refused(web: WebServer) -> None:
    web.page("/a", "text", headers={"Connection": "close"})
    answers = [["127.0.0.1"], ["127.0.0.2"]]

    async def resolve(host: str, port: int) -> list[str]:
        return answers.pop(0)

    client = Http(allow_addresses=("127.0.0.1",), robots=False, resolve=resolve)
    assert (await get(client, f"http://rebind.example:{web.port}/a")).text == "text"
    await client.aclose()
    with pytest.raises(WebProblem, match=r"127\.0\.0\.2"):
        await get(client, f"http://rebind.example:{web.port}/a")
    assert web.paths() == ["/a"]
    await client.aclose()
