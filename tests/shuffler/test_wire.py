"""The standards: vectors of RFC 9180 (A.1.1), RFC 9458 (appendix A) and RFC 9292 (section 5), then altered bytes."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from shuffledp.errors import ParameterError
from shuffledp.shuffler import oblivious_http, sealing


def h(text: str) -> bytes:
    return bytes.fromhex(text)


# RFC 9180, A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode
INFO = b"Ode on a Grecian Urn"
EPHEMERAL = h("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
RECIPIENT = h("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
ENC = h("37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431")
PLAIN = b"Beauty is truth, truth beauty"
CIPHERTEXTS = {
    0: "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
    1: "af2d7e9ac9ae7e270f46ba1f975be53c09f8d875bdc8535458c2494e8a6eab251c03d0c22a56b8ca42c2063b84",
    2: "498dfcabd92e8acedc281e85af1cb4e3e31c7dc394a1ca20e173cb72516491588d96a19ad4a683518973dcc180",
    4: "583bd32bc67a5994bb8ceaca813d369bca7b2a42408cddef5e22f880b631215a09fc0012bc69fccaa251c0246d",
    255: "7175db9717964058640a3a11fb9007941a5d1757fda1a6935c805c21af32505bf106deefec4a49ac38d71c9e0a",
    256: "957f9800542b0b8891badb026d79cc54597cb2d225b54c00c5238c25d05c30e3fbeda97d2e0e1aba483a2df9f2",
}
EXPORTED = {
    b"": "3853fe2b4035195a573ffc53856e77058e15d9ea064de3e59f4961d0095250ee",
    b"\0": "2e8f0b54673c7029649d4eb9d5e33bf1872cf76d623ff164ac185da9e88c21a5",
    b"TestContext": "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931",
}


def test_the_vectors_of_rfc_9180() -> None:
    import pyhpke

    suite = oblivious_http._suite()
    private = oblivious_http.private_key(X25519PrivateKey.from_private_bytes(RECIPIENT))
    own = X25519PrivateKey.from_private_bytes(EPHEMERAL)
    both = pyhpke.KEMKeyPair(
        oblivious_http.private_key(own), pyhpke.KEMKey.from_pyca_cryptography_key(own.public_key())
    )
    public = X25519PrivateKey.from_private_bytes(RECIPIENT).public_key()
    assert public.public_bytes_raw() == h("3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d")
    enc, sender = suite.create_sender_context(pyhpke.KEMKey.from_pyca_cryptography_key(public), INFO, eks=both)
    recipient = suite.create_recipient_context(enc, private, INFO)
    assert enc == ENC
    for number in range(257):
        sealed = sender.seal(PLAIN, b"Count-%d" % number)
        assert number not in CIPHERTEXTS or sealed == h(CIPHERTEXTS[number])
        assert recipient.open(sealed, b"Count-%d" % number) == PLAIN
    for context, value in EXPORTED.items():
        assert sender.export(context, 32) == recipient.export(context, 32) == h(value)


def test_the_two_libraries_are_the_same_hpke() -> None:
    """The inner layer is cryptography's, the appendix lists no message with empty aad: pyhpke opens what it seals."""
    key = X25519PrivateKey.generate()
    sealed = sealing.seal(b"abc", size=3, public=key.public_key(), digest=bytes(range(32)), period=5)
    info = bytes(range(32)) + bytes(7) + b"\5"
    context = oblivious_http._suite().create_recipient_context(sealed[:32], oblivious_http.private_key(key), info)
    assert context.open(sealed[32:]) == b"\1abc"
    enc, sender = oblivious_http._suite().create_sender_context(
        __import__("pyhpke").KEMKey.from_pyca_cryptography_key(key.public_key()), info
    )
    assert sealing.unseal(enc + sender.seal(b"\1xyz"), private=key, digest=bytes(range(32)), period=5) == b"xyz"


# RFC 9458, appendix A
GATEWAY = h("3c168975674b2fa8e465970b79c8dcf09f1c741626480bd4c6162fc5b6a98e1a")
CONFIG = h("01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003")
REQUEST = h("00034745540568747470730b6578616d706c652e636f6d012f")
CLIENT = h("bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73")
SEALED_REQUEST = h(
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c"
    "695d858c40a026e7965e7d86b83dd440b2c0185204b4d63525"
)
RESPONSE = h("0140c8")
NONCE = h("c789e7151fcba46158ca84b04464910d")
SEALED_RESPONSE = h("c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd")


def test_the_example_of_rfc_9458() -> None:
    configs = oblivious_http.decode_configs(len(CONFIG).to_bytes(2) + CONFIG)
    assert [(one.id, one.public) for one in configs] == [(1, CONFIG[3:35])]
    request = oblivious_http.BinaryRequest(method="GET", authority="example.com", path="/")
    assert request.encode() == REQUEST and oblivious_http.decode_message(REQUEST) == request
    sealed, client = oblivious_http.encapsulate(
        configs[0], REQUEST, ephemeral=X25519PrivateKey.from_private_bytes(CLIENT)
    )
    assert sealed == SEALED_REQUEST
    keys = {1: oblivious_http.private_key(X25519PrivateKey.from_private_bytes(GATEWAY))}
    number, opened, gateway = oblivious_http.decapsulate(sealed, keys)
    assert (number, opened) == (1, REQUEST)
    assert gateway._context.export(b"message/bhttp response", 16) == h("62d87a6ba569ee81014c2641f52bea36")
    assert oblivious_http.BinaryResponse(status=200).encode() == RESPONSE
    assert gateway.seal_answer(RESPONSE, NONCE) == SEALED_RESPONSE
    assert client.open_answer(SEALED_RESPONSE) == RESPONSE


# RFC 9292, section 5
AGENT = (
    (b"user-agent", b"curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"),
    (b"host", b"www.example.com"),
    (b"accept-language", b"en, mi"),
)
KNOWN_REQUEST = h(
    "000347455405687474707300 0a2f6865 6c6c6f2e 74787440 6c0a7573 65722d61 67656e74 34637572 6c2f372e 31362e33"
    "206c6962 6375726c 2f372e31 362e3320 4f70656e 53534c2f 302e392e 376c207a 6c69622f 312e322e 3304686f 73740f77"
    "77772e65 78616d70 6c652e63 6f6d0f61 63636570 742d6c61 6e677561 67650665 6e2c206d 690000"
)
INDEFINITE_REQUEST = h(
    "02034745 54056874 74707300 0a2f6865 6c6c6f2e 7478740a 75736572 2d616765 6e743463 75726c2f 372e3136 2e33206c"
    "69626375 726c2f37 2e31362e 33204f70 656e5353 4c2f302e 392e376c 207a6c69 622f312e 322e3304 686f7374 0f777777"
    "2e657861 6d706c65 2e636f6d 0f616363 6570742d 6c616e67 75616765 06656e2c 206d6900 00000000 00000000 00000000"
)
INDEFINITE_RESPONSE = h(
    "03406607 72756e6e 696e670a 22736c65 65702031 35220040 67046c69 6e6b233c 2f737479 6c652e63 73733e3b 2072656c"
    "3d707265 6c6f6164 3b206173 3d737479 6c65046c 696e6b24 3c2f7363 72697074 2e6a733e 3b207265 6c3d7072 656c6f61"
    "643b2061 733d7363 72697074 0040c804 64617465 1d4d6f6e 2c203237 204a756c 20323030 39203132 3a32383a 35332047"
    "4d540673 65727665 72064170 61636865 0d6c6173 742d6d6f 64696669 65641d57 65642c20 3232204a 756c2032 30303920"
    "31393a31 353a3536 20474d54 04657461 67142233 34616133 38372d64 2d313536 38656230 30220d61 63636570 742d7261"
    "6e676573 05627974 65730e63 6f6e7465 6e742d6c 656e6774 68023531 04766172 790f4163 63657074 2d456e63 6f64696e"
    "670c636f 6e74656e 742d7479 70650a74 6578742f 706c6169 6e003348 656c6c6f 20576f72 6c642120 4d792063 6f6e7465"
    "6e742069 6e636c75 64657320 61207472 61696c69 6e672043 524c462e 0d0a0000"
)
KNOWN_RESPONSE = h(
    "0140c800 1d546869 7320636f 6e74656e 7420636f 6e746169 6e732043 524c462e 0d0a0d07 74726169 6c657204 74657874"
)


def test_the_examples_of_rfc_9292() -> None:
    wanted = oblivious_http.BinaryRequest(method="GET", path="/hello.txt", fields=AGENT)
    assert wanted.encode() == KNOWN_REQUEST[:-2]  # the last two bytes may be cut off, says section 5.1
    for cut in range(3):
        assert oblivious_http.decode_message(KNOWN_REQUEST[: len(KNOWN_REQUEST) - cut]) == wanted
    for cut in range(13):
        assert oblivious_http.decode_message(INDEFINITE_REQUEST[: len(INDEFINITE_REQUEST) - cut]) == wanted
    answer = oblivious_http.decode_message(INDEFINITE_RESPONSE)
    assert isinstance(answer, oblivious_http.BinaryResponse) and answer.status == 200
    assert answer.content == b"Hello World! My content includes a trailing CRLF.\r\n"
    assert [name for name, _ in answer.fields][:3] == [b"date", b"server", b"last-modified"] and len(answer.fields) == 8
    chunked = oblivious_http.decode_message(KNOWN_RESPONSE)
    assert chunked == oblivious_http.BinaryResponse(
        status=200, content=b"This content contains CRLF.\r\n", trailers=((b"trailer", b"text"),)
    )
    assert chunked.encode() == KNOWN_RESPONSE


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\4",
        KNOWN_REQUEST[:40],
        INDEFINITE_REQUEST[:60],
        KNOWN_REQUEST + b"\0\1",  # padding that is not zero
        h("0140c8 05 01410161 00"),  # a name in upper case
        h("0140c8 02 0000"),  # a field without a name
        h("0101"),  # a status below 100
        h("00 01ff 00 00 00"),  # a method that is not ASCII
        b"\0" + b"\3GET\0\0\1/" + oblivious_http.varint(4 * 65) + b"\1a\1b" * 65,
        b"\1" + h("4064 00") * 65 + h("40c8"),  # interim responses without an end
        b"\2" + b"\3GET\0\0\1/" + b"\0" + b"\1x" * 5000 + b"\0\0",  # a content of single bytes
    ],
)
def test_other_bytes_are_no_binary_http(raw: bytes) -> None:
    with pytest.raises(ParameterError, match="must be binary HTTP"):
        oblivious_http.decode_message(raw)


def test_altered_requests_and_answers_do_not_open() -> None:
    key = X25519PrivateKey.generate()
    keys = {9: oblivious_http.private_key(key)}
    sealed, client = oblivious_http.encapsulate(
        oblivious_http.KeyConfig(9, key.public_key().public_bytes_raw()), b"content"
    )
    answer = oblivious_http.decapsulate(sealed, keys)[2].seal_answer(b"answer")
    for at in range(len(sealed)):
        altered = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(ParameterError if at >= 7 else oblivious_http.UnknownKeyError):
            oblivious_http.decapsulate(altered, keys)
    for cut in range(len(sealed)):
        with pytest.raises((ParameterError, oblivious_http.UnknownKeyError)):
            oblivious_http.decapsulate(sealed[:cut], keys)
    with pytest.raises(ParameterError, match="sealed as Oblivious HTTP"):
        oblivious_http.decapsulate(sealed, {9: oblivious_http.private_key(X25519PrivateKey.generate())})
    for at in range(len(answer)):
        with pytest.raises(ParameterError):
            client.open_answer(answer[:at] + bytes([answer[at] ^ 128]) + answer[at + 1 :])
    with pytest.raises(ParameterError):
        client.open_answer(answer[:20])
    # an enc of small order, for which every private key has the same secret
    with pytest.raises(ParameterError):
        oblivious_http.decapsulate(sealed[:7] + bytes(32) + sealed[39:], keys)


def test_keys_of_others_are_skipped_and_broken_lists_refused() -> None:
    ours = oblivious_http.KeyConfig(3, os.urandom(32))
    other = b"\1\0\x10" + bytes(65) + b"\0\4\0\1\0\1"  # P-256
    chacha = b"\2\0\x20" + bytes(32) + b"\0\4\0\1\0\3"
    listed = b"".join(len(one).to_bytes(2) + one for one in (other, chacha, ours.encode()))
    assert oblivious_http.decode_configs(listed) == [ours]
    for broken in (b"", listed[:-1], b"\0\1\1", len(chacha).to_bytes(2) + chacha):
        with pytest.raises(ParameterError, match="application/ohttp-keys"):
            oblivious_http.decode_configs(broken)


def test_a_sealed_message_is_of_one_plan_one_period_and_one_key() -> None:
    key, digest = X25519PrivateKey.generate(), os.urandom(32)
    sealed = sealing.seal(b"\0\0", size=2, public=key.public_key(), digest=digest, period=4)
    assert sealing.unseal(sealed, private=key, digest=digest, period=4) == b"\0\0"  # not a blank
    others = [
        (sealed, key, digest, 5),
        (sealed, key, os.urandom(32), 4),
        (sealed, X25519PrivateKey.generate(), digest, 4),
        (sealed[:-1], key, digest, 4),
        (b"", key, digest, 4),
        *((sealed[:i] + bytes([sealed[i] ^ 1]) + sealed[i + 1 :], key, digest, 4) for i in range(len(sealed))),
    ]
    for raw, private, plan, period in others:
        with pytest.raises(ParameterError, match="must open with the analyst's key"):
            sealing.unseal(raw, private=private, digest=plan, period=period)
    # a flag that is neither, and a blank that says something
    for plain in (b"\2ab", b"\0\0b"):
        raw = sealing._suite().encrypt(plain, key.public_key(), info=digest + (4).to_bytes(8))
        with pytest.raises(ParameterError):
            sealing.unseal(raw, private=key, digest=digest, period=4)
    with pytest.raises(ParameterError, match="must have 2 bytes"):
        sealing.seal(b"abc", size=2, public=key.public_key(), digest=digest, period=4)


def test_a_body_has_the_size_that_the_plan_states() -> None:
    reports = [sealing.Report(os.urandom(16), os.urandom(100)) for _ in range(3)]
    body = sealing.pack(bytes(32), 2**63, reports)
    assert sealing.read_header(body) == (bytes(32), 2**63, 3)
    assert sealing.unpack(body, report_bytes=100) == reports
    for raw, size in ((body, 99), (body[:-1], 100), (body + b"\0", 100), (body[:45], 100), (b"SDR2" + body[4:], 100)):
        with pytest.raises(ParameterError, match="of the size that the plan states"):
            sealing.unpack(raw, report_bytes=size)
    with pytest.raises(ParameterError):
        sealing.unpack(sealing.pack(bytes(32), 1, []), report_bytes=100)
