import re
import unicodedata

RESERVED = re.compile(r"(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?", re.IGNORECASE)
HIDDEN = ("Cf", "Zl", "Zp")
MAX_PART_BYTES = 255


def find_unsafe_archive_names(names: list[str]) -> dict:
    """Finds names in an archive (zip, tar) that are dangerous or troublesome to unpack, such as "../../outside.txt".

    The names come from a listing, such as `unzip -Z1` or `tar -tf`. Nothing is opened.

    Also known as: zip slip, path traversal, safe to extract, tar extraction check, illegal file names, archive security check

    Args:
        names: The names of the entries as the archive has them, with "/" or "\\" between the parts; folders may end in
            one.

    Returns:
        A dict with "safe" (whether no name has a problem) and "problems", a list of dicts with "name" and "reasons", in
        the order of `names`, one for each name with at least one reason. The reasons, in this order:
        "empty" (nothing but white space; then no other is given),
        "absolute path" (begins with "/" or "\\", or with a letter and a colon, such as "C:"),
        "leaves the folder" (a part is ".."),
        "control character" (code 0 to 31 or 127 to 159),
        "invisible character" (a format or separator character of Unicode, such as the one that reverses the direction
        of text),
        "not allowed on Windows" (one of < > : " | ? * in a part, except for the colon of a drive; or a part that ends
        in a point or a blank, except for "." and ".."),
        "reserved on Windows" (a part is CON, PRN, AUX, NUL, COM1 to COM9 or LPT1 to LPT9, with or without an extension,
        in capital or small letters),
        "too long" (a part has more than 255 bytes in UTF-8),
        "duplicate" (an earlier name has the same parts between "/" or "\\"; empty parts and "." do not count, so
        "/a//b/" is the same as "a/b"), and
        "differs by case only" (no duplicate, but equal to an earlier name if capital letters and ways to write accents
        do not count, as on Windows and macOS).

    Raises:
        ValueError: If the list is empty.

    Examples:
        >>> find_unsafe_archive_names(["docs/a.txt", "../../outside.txt"])
        {'safe': False, 'problems': [{'name': '../../outside.txt', 'reasons': ['leaves the folder']}]}
        >>> find_unsafe_archive_names(["docs/", "docs/a..b.txt", "docs/.hidden"])
        {'safe': True, 'problems': []}
        >>> find_unsafe_archive_names(["C:\\\\temp\\\\nul.txt", "/etc/hosts"])["problems"][0]["reasons"]
        ['absolute path', 'reserved on Windows']
        >>> find_unsafe_archive_names(["Readme", "README", "./Readme"])["problems"]
        [{'name': 'README', 'reasons': ['differs by case only']}, {'name': './Readme', 'reasons': ['duplicate']}]
        >>> find_unsafe_archive_names(["a?.txt", "b.", "photo\\u202egpj.exe"])["problems"][2]["reasons"]
        ['invisible character']
        >>> find_unsafe_archive_names([" ", "a\\tb", "a:b"])["problems"]
        [{'name': ' ', 'reasons': ['empty']}, {'name': 'a\\tb', 'reasons': ['control character']}, {'name': 'a:b', 'reasons': ['absolute path']}]
        >>> find_unsafe_archive_names(["a", "/a"])
        {'safe': False, 'problems': [{'name': '/a', 'reasons': ['absolute path', 'duplicate']}]}
        >>> find_unsafe_archive_names([])
        Traceback (most recent call last):
        ...
        ValueError: names is empty
    """
    if not names:
        raise ValueError("names is empty")
    problems = []
    seen: set[str] = set()
    seen_folded: set[str] = set()
    for name in names:
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
        same = "/".join(parts)
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", same).casefold())
        reasons = _reasons(name, parts)
        if reasons != ["empty"]:
            if same in seen:
                reasons.append("duplicate")
            elif folded in seen_folded:
                reasons.append("differs by case only")
            seen.add(same)
            seen_folded.add(folded)
        if reasons:
            problems.append({"name": name, "reasons": reasons})
    return {"safe": not problems, "problems": problems}


def _reasons(name: str, parts: list[str]) -> list[str]:
    if not name.strip():
        return ["empty"]
    drive = re.match("[A-Za-z]:", name) is not None
    local = [parts[0][2:], *parts[1:]] if drive and parts else parts
    checks = {
        "absolute path": drive or name[0] in "/\\",
        "leaves the folder": ".." in local,
        "control character": re.search(r"[\x00-\x1f\x7f-\x9f]", name) is not None,
        "invisible character": any(unicodedata.category(char) in HIDDEN for char in name),
        "not allowed on Windows": any(
            re.search(r'[<>:"|?*]', part) or (part.endswith((".", " ")) and part != "..") for part in local
        ),
        "reserved on Windows": any(RESERVED.fullmatch(part) for part in local),
        "too long": any(len(part.encode(errors="surrogatepass")) > MAX_PART_BYTES for part in local),
    }
    return [reason for reason, holds in checks.items() if holds]
