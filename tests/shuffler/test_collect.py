"""A released period, from sealed messages to the answer: what is refused, who is counted on, what is proved."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shuffledp as sdp
from reference.commands import refused, run
from reference.sealed_field import LABELS, Field, bad_rows, plan_of
from shuffledp.protocol.portable import charge
from shuffledp.shuffler import keys, signed
from shuffledp.shuffler.collect import Counts, OpeningJob, collect
from shuffledp.shuffler.publication import Publication, program_text
from shuffledp.shuffler.release import ReleasedBatch
from shuffledp.shuffler.statement import reached, state, verify_statement

VALUES = (LABELS * 100)[:300]


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field.make(tmp_path, plan_of())


def collected(field: Field, folder: Path, **how: Any) -> tuple[Counts, bool, sdp.Collector]:
    collector = sdp.Collector(field.publication.plan)
    released = ReleasedBatch.read(folder, field.publication, field.shufflers)
    return *collect(released, field.sealing_key, collector, **how), collector


# -- counting ---------------------------------------------------------------------------------------------------------


def test_the_answer_is_that_of_the_opened_messages(field: Field) -> None:
    """The oracle opens by another implementation of HPKE, and inverts randomized response by hand."""
    import pyhpke

    rows = field.reports(VALUES)
    counts, new, collector = collected(field, field.release(rows))
    suite = pyhpke.CipherSuite.new(
        pyhpke.KEMId.DHKEM_X25519_HKDF_SHA256, pyhpke.KDFId.HKDF_SHA256, pyhpke.AEADId.AES128_GCM
    )
    key = pyhpke.KEMKey.from_pyca_cryptography_key(field.sealing_key)
    info = bytes.fromhex(field.publication.digest) + (3).to_bytes(8, "big")
    seen = Counter(suite.create_recipient_context(row[:32], key, info).open(row[32:])[1] for row in rows)
    d, keep = 5, (np.exp(2.0) - 1) / (np.exp(2.0) + 4)
    by_hand = [(seen[i] / 300 - (1 - keep) / d) / keep for i in range(d)]
    assert collector.estimate().value == pytest.approx(by_hand, rel=1e-9)
    assert new and (counts.real, counts.blank, counts.refused) == (300, 0, {})
    assert counts.honest(collector.plan) == counts.users(collector.plan) == collector.users == 300


@pytest.mark.parametrize(
    ("mechanism", "more"),
    [
        ("pure-dump:messages=2", {}),
        ("pure-dump:poisson=2", {}),
        pytest.param("grr:eps0=2", {"reports_per_user": 3}, marks=pytest.mark.slow),
    ],
)
def test_blanks_are_dropped_and_the_truth_is_in_the_interval(tmp_path: Path, mechanism: str, more: Any) -> None:
    field = Field.make(tmp_path, plan_of(mechanism, users=80, **more))
    counts, _, collector = collected(field, field.release(field.reports(VALUES[:80])))
    found, plan = collector.estimate(), collector.plan
    assert counts.real + counts.blank == 80 * counts.slots and not counts.refused
    assert counts.users(plan) == counts.honest(plan) == 80
    if not more:  # users with three reports and one row have two missing ones
        low, high = found.interval(1 - 1e-6)
        assert (low[:4] <= 0.25).all() and (high[:4] >= 0.25).all()


def test_what_no_client_sends_is_refused_by_reason_and_leaves_the_crowd(field: Field) -> None:
    bad = bad_rows(field)
    rows = [*field.reports(VALUES), *chain.from_iterable(bad.values()), field.sealed(None), field.sealed(None)]
    counts, _, collector = collected(field, field.release(rows))
    assert counts.refused == {"copied": 2, "impossible": 2, "unopened": 5}
    assert (counts.contributors, counts.real, counts.blank) == (312, 301, 2)
    assert counts.honest(collector.plan) == counts.users(collector.plan) == 312 - 2 - 2 - 5 - 2
    assert collector.users == 301


def test_an_altered_copy_does_not_push_out_the_message_that_it_copies(field: Field) -> None:
    good = field.sealed(b"\2")
    copies = [good[:32] + bytes(len(good) - 32)] * 3
    counts, _, _ = collected(field, field.release([*field.reports(VALUES), *copies, good]))
    assert counts.real == 301 and counts.refused == {"copied": 2, "unopened": 1}


def test_messages_that_make_no_whole_report_are_left_out(tmp_path: Path) -> None:
    field = Field.make(tmp_path, plan_of("pure-dump:messages=2"))
    rows = field.reports(VALUES)
    rows[0] = bytes(len(rows[0]))
    counts, _, collector = collected(field, field.release(rows))
    assert counts.refused == {"surplus": 2, "unopened": 1} and counts.real == 897
    assert collector.users == counts.users(collector.plan) == 299
    assert counts.honest(collector.plan) <= 299
    assert collector.estimate().value.sum() == pytest.approx(1.0)  # as many messages as reports were summed


def test_the_crowd_is_at_most_that_of_every_way_to_deal_the_messages() -> None:
    """Brute force: deal bad messages and blanks to users in all ways; no more users can be without a bad one."""
    plan = plan_of("pure-dump:messages=1", users=1)  # two messages each, two slots
    for contributors in (1, 2, 3):
        for bad in range(2 * contributors + 1):
            for blank in range(2 * contributors + 1 - bad):
                real = 2 * contributors - bad - blank
                counts = Counts(contributors, 2, real, blank, {"unopened": bad})
                worst = min(contributors, bad + blank)  # one bad slot each, to as many users as there are
                assert counts.honest(plan) == max(0, contributors - worst)
                assert 2 * counts.users(plan) <= real


def test_below_the_minimum_nothing_is_counted(field: Field) -> None:
    rows = [*field.reports(VALUES[:199]), bytes(field.publication.sealed_bytes), field.sealed(None)]
    with pytest.raises(sdp.ParameterError, match=r"got 199 of 201 who can have \(1 unopened\); nothing is counted"):
        collected(field, field.release(rows))


@pytest.mark.slow
def test_worker_processes_count_the_same(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = field.release([*field.reports(VALUES), *chain.from_iterable(bad_rows(field).values())])
    done: list[int] = []
    here, _, first = collected(field, folder)
    monkeypatch.setattr("shuffledp.shuffler.collect._SEVERAL", 1)
    there, _, second = collected(field, folder, progress=lambda rows, all_: done.append(rows))
    assert here == there and done[-1] == 310
    assert first.estimate().value == pytest.approx(second.estimate().value)


@pytest.mark.slow_cases("300")
@pytest.mark.parametrize("came", [60, 300])
def test_the_law_of_the_clients_is_charged_for_all_who_were_reached(tmp_path: Path, came: int) -> None:
    """Of a Poisson number of messages, some do not fit the slots; the plan asks 40 users, and more come."""
    plan = replace(plan_of("pure-dump:poisson=2", users=40), users=40)
    field = Field.make(tmp_path, plan)
    _, _, collector = collected(field, field.release(field.reports(VALUES[:came])))
    made, epsilon, file = field.publication.program, collector.program_epsilon, plan.to_dict()
    left = plan.delta - charge(plan, made, users=came, epsilon=epsilon)
    assert epsilon >= sdp.amplify(plan.query.randomizer, n=40, delta=left).epsilon > plan.epsilon
    assert epsilon >= field.publication.guarantee["epsilon"]
    assert collector.plan.to_dict() == file and collector.plan.epsilon == field.publication.plan.epsilon
    collector.save(tmp_path / "state.json")
    for one in (
        collector,
        sdp.Collector.load(tmp_path / "state.json", collector.plan),
        sdp.Collector(plan).merge(collector),
    ):
        assert sdp.round_up(epsilon) in str(one.statement())
        assert one.estimate().provenance.epsilon == epsilon


def test_a_batch_is_counted_once(field: Field) -> None:
    released = ReleasedBatch.read(field.release(field.reports(VALUES)), field.publication, field.shufflers)
    collector = sdp.Collector(field.publication.plan)
    assert [collect(released, field.sealing_key, collector)[1] for _ in range(2)] == [True, False]
    assert collector.users == 300
    other = sdp.Collector(plan_of("grr:eps0=1"))
    with pytest.raises(sdp.ParameterError, match="collector must be of the plan"):
        collect(released, field.sealing_key, other)
    with pytest.raises(sdp.ParameterError, match="key must be the one that messages were sealed to"):
        collect(released, keys.sealing(field.folder / "shuffler/sealing.key"), collector)
    with pytest.raises(sdp.ParameterError, match="engine must be 'local' or 'spark'"):
        collect(released, field.sealing_key, collector, engine="slow")


def test_who_answered_another_program_is_not_counted(field: Field) -> None:
    """A client that cannot derive the program got another one from the same publisher: it seals to its digest."""
    payload = json.loads(field.envelope["payload"])
    made = json.loads(payload["program"])
    made["law"]["keep"] = "f" * 32
    payload["program"] = program_text(made)
    key = keys.signing(field.folder / "analyst/signing.key")
    other = signed.sign("shuffledp publication 1", payload, key)
    with pytest.raises(sdp.ParameterError, match="program of the publication must be that of its plan"):
        Publication.read(other, field.analysts)
    digest = bytes.fromhex(signed.digest("shuffledp publication 1", other))
    counts, _, _ = collected(field, field.release([*field.reports(VALUES), field.sealed(b"\1", digest=digest)]))
    assert counts.real == 300 and counts.refused == {"unopened": 1}


# -- what a shuffler signed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"publication": 64 * "0"}, "publication of the manifest must be that of the publication"),
        ({"minimum": 3}, "unknown key in manifest 'minimum'"),
        ({"contributors": 299}, "messages of the manifest must be that"),
        ({"messages": 299}, "counts that add up"),
        ({"version": 2}, "manifest must be of version 1"),
        ({"batch": "../x"}, "counts that add up and each file once"),
        ({"refused": {"late": -1}}, "counts that add up"),
        ({"files": [{"name": "../part-00000.parquet", "messages": 300, "sha256": 64 * "0"}]}, "must be a part with"),
        ({"files": 3}, "a file of the manifest"),
    ],
    ids=str,
)
def test_manifests_that_do_not_fit_are_refused(field: Field, changed: dict[str, Any], said: str) -> None:
    folder = field.release(field.reports(VALUES), **changed)
    with pytest.raises(sdp.ParameterError, match=said):
        ReleasedBatch.read(folder, field.publication, field.shufflers)


def test_other_signers_other_bytes_and_missing_parts_are_refused(field: Field) -> None:
    folder = field.release(field.reports(VALUES))
    with pytest.raises(sdp.ParameterError, match="must be signed by a key that is trusted"):
        ReleasedBatch.read(folder, field.publication, field.analysts)
    part = folder / "part-00001.parquet"
    raw = bytearray(part.read_bytes())
    raw[1000] ^= 1
    part.write_bytes(raw)
    with pytest.raises(sdp.ParameterError, match=r"part-00001.parquet must have the bytes that the shuffler signed"):
        collected(field, folder)
    part.unlink()
    with pytest.raises(sdp.ParameterError, match="No such file"):
        collected(field, folder)
    bomb = field.release([field.sealed(b"\1")] * 5000, name="bomb")  # a dictionary of one entry
    with pytest.raises(sdp.ParameterError, match=r"part-00000.parquet must have the bytes that the shuffler signed"):
        collected(field, bomb)
    few = field.release(field.reports(VALUES[:199]), name="few")
    with pytest.raises(sdp.ParameterError, match="must have 200 contributors, got 199"):
        ReleasedBatch.read(few, field.publication, field.shufflers)


# -- the statement ----------------------------------------------------------------------------------------------------


def stated(
    field: Field, *, colluding: int = 0, extra: Sequence[bytes] = (), values: Sequence[str] = VALUES
) -> tuple[Path, dict[str, Any]]:
    folder = field.release([*field.reports(values), *extra])
    counts, _, _ = collected(field, folder)
    released = ReleasedBatch.read(folder, field.publication, field.shufflers)
    key = keys.signing(field.folder / "analyst/signing.key")
    made = state(released, counts, key=key, colluding=colluding)
    path = field.folder / "statement.json"
    signed.save(path, made)
    return path, json.loads(made["payload"])


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Field, dict[str, Any]]:
    """What an honest analyst states."""
    field = Field.make(tmp_path_factory.mktemp("told"), plan_of())
    return field, stated(field, colluding=20, extra=bad_rows(field)["unopened"])[1]


def test_a_statement_is_for_the_users_who_were_reached(field: Field) -> None:
    path, payload = stated(field, colluding=20, extra=[*bad_rows(field)["unopened"], field.sealed(None)])
    found = verify_statement(path, shufflers=field.shufflers, analysts=field.analysts)
    claim = payload["guarantee"]
    assert (found.guarantee["n"], claim["colluding"], payload["refused"]) == (300, 20, {"unopened": 5})
    truth = sdp.amplify("grr:eps0=2,d=5", n=280, delta=1e-6)
    assert truth.epsilon <= claim["epsilon"] <= truth.epsilon * 1.01  # 1 % of delta pays for the law of clients
    assert found.proof is not None and found.proof.n == 280 and float(found.proof.epsilon) <= claim["epsilon"]
    assert found.manifest["refused"] == {"replayed": 2}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: p["guarantee"].update(epsilon=0.01), "the certificate must be of this guarantee"),
        (lambda p: (p["guarantee"].update(epsilon=0.01), p.update(certificate=None)), "must be proved again"),
        (lambda p: p["guarantee"].update(colluding=0), "certificate must be of this"),
        (lambda p: p["guarantee"].update(law_delta=1e-6), "must cover the rounding"),
        (lambda p: p.update(refused={}), "the number of sealed messages must be 305"),
        (lambda p: p.update(refused={}, real=305), "the certificate must be of this guarantee"),
        (lambda p: p["publication"].update(payload=p["publication"]["payload"] + " "), "must be that of the batch"),
        (lambda p: p.update(publication=3), "a publication must be a signed document"),
        (lambda p: p.update(version=2), "statement must be of version 1"),
        (lambda p: p.update(real="many"), "must be whole numbers"),
        (lambda p: p["guarantee"].update(epsilon="small"), "must hold numbers"),
        (lambda p: p.update(note="trust me"), "unknown key"),
        (lambda p: p["guarantee"].update(n=400), "unknown key"),
        (lambda p: p["guarantee"].update(colluding=-1000), "colluding must be"),
        (lambda p: p["guarantee"].update(bound="magic"), "the certificate must be of this guarantee"),
    ],
)
def test_an_analyst_who_lies_is_found_out(
    told: tuple[Field, dict[str, Any]], tmp_path: Path, change: Any, said: str
) -> None:
    """Signed all the same: the signature says who lied."""
    field, payload, path = told[0], deepcopy(told[1]), tmp_path / "statement.json"
    change(payload)
    signed.save(path, signed.sign("shuffledp statement 1", payload, keys.signing(field.folder / "analyst/signing.key")))
    with pytest.raises((sdp.VerificationError, sdp.ParameterError), match=said):
        verify_statement(path, shufflers=field.shufflers, analysts=field.analysts)


def test_a_statement_needs_a_finite_eps(tmp_path: Path) -> None:
    field = Field.make(tmp_path, plan_of("pure-dump:poisson=2", users=60))
    with pytest.raises(sdp.ParameterError, match=r"must have a finite eps .* got none for 60 users of whom 59 collude"):
        stated(field, values=VALUES[:60], colluding=59)
    with pytest.raises(sdp.ParameterError, match="must leave at least one honest user"):
        reached(field.publication, Counts(60, 1, 60, 0, {}), colluding=60)


def test_a_mechanism_without_certificate_is_computed_again(tmp_path: Path) -> None:
    field = Field.make(tmp_path, plan_of("pure-dump:poisson=2", users=60))
    path, payload = stated(field, values=VALUES[:60])
    found = verify_statement(path, shufflers=field.shufflers, analysts=field.analysts)
    assert found.proof is None and payload["certificate"] is None
    assert any("not certified" in line for line in found.lines())


def test_a_certificate_for_one_report_does_not_prove_a_plan_of_several(tmp_path: Path) -> None:
    """The proof is sound, of another question: a user who sends two messages loses more."""
    field = Field.make(tmp_path, plan_of(users=60, reports_per_user=2))
    path, payload = stated(field, values=VALUES[:60])
    verify_statement(path, shufflers=field.shufflers, analysts=field.analysts)
    claim = payload["guarantee"]
    once = sdp.amplify("grr:eps0=2,d=5", n=60, delta=claim["law_delta"], certify=True)
    assert once.epsilon < claim["epsilon"]
    claim.update(epsilon=float(sdp.round_up(once.epsilon)), bound=once.bound)
    payload["certificate"] = once.certificate.to_dict() if once.certificate else None
    signed.save(path, signed.sign("shuffledp statement 1", payload, keys.signing(field.folder / "analyst/signing.key")))
    with pytest.raises(sdp.VerificationError, match="a certificate is for one report per user, got one for a plan"):
        verify_statement(path, shufflers=field.shufflers, analysts=field.analysts)


# -- the commands -----------------------------------------------------------------------------------------------------


def asked(field: Field, *more: str) -> list[str]:
    at = field.folder
    given = {"publication": at / "publication.json", "keys": at / "analyst", "shuffler": at / "shuffler/signing.pub"}
    return ["collect", str(at / "released"), *more, *(x for k, v in given.items() for x in (f"--{k}", str(v)))]


def test_collect_and_verify_by_commands(field: Field) -> None:
    field.release([*field.reports(VALUES), *bad_rows(field)["impossible"]])
    at, statement, told = field.folder, str(field.folder / "s.json"), str(field.folder / "state.json")
    first = run(*asked(field, "--statement", statement, "--state", told, "--colluding", "5%", "--json"))
    assert first.exit_code == 0, first.output
    found = json.loads(first.stdout)
    assert found["users"] == 300 and found["released"][0]["refused"] == {"impossible": 2}
    assert found["period"] == "2027-01-15T11:00Z"
    again = run(*asked(field, "--state", told, "--table", str(at / "answers.csv")))
    assert again.exit_code == 0 and "counted before, skipped" in again.stderr
    assert "302 contributors, 300 messages, 0 blanks, refused: 2 impossible; counted before" in again.stderr
    assert json.loads(Path(told).read_text())["batches"] and (at / "answers.csv").exists()
    pubs = ["--shuffler", str(at / "shuffler/signing.pub"), "--analyst", str(at / "analyst/signing.pub")]
    verified = run("certify", "--verify", statement, *pubs)
    assert verified.exit_code == 0 and "up to 15 users colluding" in verified.stdout, verified.output
    as_json = json.loads(run("certify", "--verify", statement, *pubs, "--json").stdout)
    assert as_json["verified"] and as_json["certified"] and as_json["guarantee"]["n"] == 300
    for swapped in (["--shuffler", pubs[3], "--analyst", pubs[1]], ["--shuffler", pubs[1], "--analyst", pubs[1]]):
        assert "must be signed by a key that is trusted" in refused(run("certify", "--verify", statement, *swapped))
    assert "stand together" in refused(run("certify", "--verify", statement, *pubs[:2]))
    assert "got a signed document" in refused(run("certify", "--verify", statement))
    envelope = json.loads(Path(statement).read_text())
    envelope["payload"] = envelope["payload"].replace('"real":300', '"real":302')
    Path(statement).write_text(json.dumps(envelope))
    assert "must have the signature of its text" in refused(run("certify", "--verify", statement, *pubs), code=3)


def test_several_periods_are_counted_together(field: Field) -> None:
    field.release(field.reports(VALUES))
    later = str(field.release(field.reports(VALUES[:250], period=4), name="later", period=4))
    done = run(*asked(field, later, "--json"))
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["users"] == 550 and found["period"] == "2027-01-15T11:00Z/2027-01-15T12:00Z"
    assert [one["period"] for one in found["released"]] == [3, 4]
    said = refused(run(*asked(field, later, "--statement", str(field.folder / "s.json"))))
    assert "--statement is for one released period" in said


def test_collect_refuses_in_one_sentence(field: Field) -> None:
    at = field.folder
    assert "manifest.json" in refused(run(*asked(field)))  # nothing was released yet
    field.release(field.reports(VALUES))
    (at / "analyst/sealing.key").rename(at / "gone")
    assert "sealing.key" in refused(run(*asked(field)))
    (at / "gone").rename(at / "analyst/sealing.key")
    assert "must be signed by a key" in refused(run(*asked(field, "--publisher", str(at / "shuffler/signing.pub"))))
    both = str(at / "x.json")
    assert "must be different files" in refused(run(*asked(field, "--state", both, "--statement", both)))
    for read in ("publication.json", "analyst/signing.key", "shuffler/signing.pub"):
        before = (at / read).read_bytes()
        assert "must be different files" in refused(run(*asked(field, "--statement", str(at / read))))
        assert (at / read).read_bytes() == before
    assert "--colluding needs --statement" in refused(run(*asked(field, "--colluding", "3")))


def test_a_job_does_not_show_its_key() -> None:
    secret = bytes(range(32))
    job = OpeningJob("plan", bytes(32), secret, 3)
    assert job.key == secret and "plan" in repr(job)
    assert all(shown not in repr(job) + str(job) for shown in (repr(secret), secret.hex(), "key"))
