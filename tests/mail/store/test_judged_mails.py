"""Tokens of judged mails: held across restarts, bounded in bytes and days, and gone when removed."""

from __future__ import annotations

from pathlib import Path

from stream_bayes.mail.store.judged_mails import DAY, JudgedMails

TOKENS = {f"token{number}": 1 for number in range(50)}


def bytes_in(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.iterdir())


def test_the_newest_mails_are_held_within_the_bytes_and_survive_a_restart(tmp_path: Path) -> None:
    judged = JudgedMails(tmp_path, max_bytes=20_000)
    for number in range(200):
        judged.put(f"mail {number}", {**TOKENS, f"own{number}": 2})
        assert bytes_in(tmp_path) <= 20_000
    held = judged.ids()
    assert 8 <= len(held) < 40 and held == [f"mail {number}" for number in range(200 - len(held), 200)]
    again = JudgedMails(tmp_path, max_bytes=20_000)
    assert again.ids() == held
    assert again.get("mail 199") == {**TOKENS, "own199": 2} and again.get("mail 0") is None


def test_mails_are_deleted_after_so_many_days(tmp_path: Path) -> None:
    now = [1e9]
    judged = JudgedMails(tmp_path, days=2.0, clock=lambda: now[0])
    for hour in range(0, 24 * 10, 4):
        now[0] = 1e9 + hour * DAY / 24
        judged.put(f"mail {hour}", TOKENS)
    assert judged.ids()[0] == f"mail {10 * 24 - 4 - 48}"
    text = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b'"mail 136"' not in text and b'"mail 236"' in text
    now[0] += 3 * DAY
    assert judged.get("mail 236") is None and bytes_in(tmp_path) == 0
    judged.put("another", TOKENS)
    assert JudgedMails(tmp_path, days=2.0, clock=lambda: now[0]).get("another") == TOKENS


def test_a_removed_mail_leaves_the_disk_and_the_others_stay(tmp_path: Path) -> None:
    judged = JudgedMails(tmp_path)
    for name in ("a", "b", "c"):
        judged.put(name, {f"word-{name}": 1})
    assert judged.remove(["b", "x"]) == 1 and judged.remove(["b"]) == 0
    assert not any(b"word-b" in path.read_bytes() for path in tmp_path.iterdir())
    judged.put("d", {"word-d": 1})
    assert [judged.get(name) for name in "abcd"] == [{"word-a": 1}, None, {"word-c": 1}, {"word-d": 1}]
    assert JudgedMails(tmp_path).get("d") == {"word-d": 1}


def test_a_torn_record_is_cut_off(tmp_path: Path) -> None:
    judged = JudgedMails(tmp_path)
    judged.put("a", TOKENS)
    judged.put("b", TOKENS)
    path = tmp_path / "judged-new"
    path.write_bytes(path.read_bytes()[:-3])
    again = JudgedMails(tmp_path)
    assert again.ids() == ["a"]
    again.put("c", {"c": 1})
    assert JudgedMails(tmp_path).ids() == ["a", "c"]


def test_several_processes_hold_mails_in_turn(tmp_path: Path) -> None:
    one, other = (JudgedMails(tmp_path, max_bytes=5_000) for _ in range(2))
    names = [f"mail {number}" for number in range(100)]
    for number, name in enumerate(names):  # through several changes of the file, by either
        (one if number % 3 else other).put(name, {f"word-{name}": 1, "both": 2})
    held = one.ids()
    assert 20 < len(held) < 100 and held == other.ids() == JudgedMails(tmp_path).ids() == names[-len(held) :]
    assert all(each.get(name) == {f"word-{name}": 1, "both": 2} for each in (one, other) for name in held)
    assert one.remove(held[-1:]) == 1 and other.get(held[-1]) is None
    other.put(held[-1], {"again": 1})
    assert one.get(held[-1]) == {"again": 1}


def test_without_bytes_nothing_is_held(tmp_path: Path) -> None:
    judged = JudgedMails(tmp_path, max_bytes=0)
    judged.put("a", TOKENS)
    assert judged.get("a") is None and bytes_in(tmp_path) == 0
