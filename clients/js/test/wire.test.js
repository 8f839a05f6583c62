// The appendix vectors of RFC 9180 (A.1.1), RFC 9458 (A) and the figures of RFC 9292 (section 5).

import assert from "node:assert/strict";
import { test } from "node:test";

import { concat, fromBase64, fromHex, integer, text, toBase64, toHex, utf8 } from "../src/bytes.js";
import { exported, gcm, seal, setup } from "../src/hpke.js";
import { decodeResponse, encapsulate, encodeRequest, keyConfig } from "../src/ohttp.js";

/** An X25519 pair from its 32 secret bytes: WebCrypto takes them in PKCS #8 only. */
async function pair(secret, publicKey) {
  const pkcs8 = concat(fromHex("302e020100300506032b656e04220420"), fromHex(secret));
  return {
    privateKey: await crypto.subtle.importKey("pkcs8", pkcs8, "X25519", false, ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", fromHex(publicKey), "X25519", true, []),
  };
}

const A1 = {
  info: "4f6465206f6e2061204772656369616e2055726e",
  skE: "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
  enc: "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
  pkR: "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
  key: "4531685d41d65f03dc48f6b8302c05b0",
  nonce: "56d890e5accaaf011cff4b7d",
  exporter: "45ff1c2e220db587171952c0592d5f5ebe103f1561a2614e38f2ffd47e99e3f8",
};

test("RFC 9180 A.1.1: key schedule, first ciphertext, exported values", async () => {
  const made = await setup(fromHex(A1.pkR), fromHex(A1.info), await pair(A1.skE, A1.enc));
  for (const part of ["enc", "key", "nonce", "exporter"]) assert.equal(toHex(made[part]), A1[part], part);
  const beauty = utf8("Beauty is truth, truth beauty");
  assert.equal(
    toHex(await gcm("encrypt", made.key, made.nonce, beauty, utf8("Count-0"))),
    "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a",
  );
  for (const [context, value] of [
    ["", "3853fe2b4035195a573ffc53856e77058e15d9ea064de3e59f4961d0095250ee"],
    ["\0", "2e8f0b54673c7029649d4eb9d5e33bf1872cf76d623ff164ac185da9e88c21a5"],
    ["TestContext", "e9e43065102c3836401bed8c3c3c75ae46be1639869391d62c61f1ec7af54931"],
  ])
    assert.equal(toHex(await exported(made.exporter, utf8(context), 32)), value);
});

test("every seal has a fresh key, and a public key of small order is refused", async () => {
  const [first, second] = await Promise.all([1, 2].map(() => seal(fromHex(A1.pkR), utf8("x"), utf8("same"))));
  assert.equal(first.length, 32 + 4 + 16);
  assert.notEqual(toHex(first.slice(0, 32)), toHex(second.slice(0, 32)));
  await assert.rejects(seal(new Uint8Array(32), utf8("x"), utf8("y")));
  await assert.rejects(seal(new Uint8Array(31), utf8("x"), utf8("y")));
});

const OHTTP = {
  config: "01002031e1f05a740102115220e9af918f738674aec95f54db6e04eb705aae8e79815500080001000100010003",
  skE: "bc51d5e930bda26589890ac7032f70ad12e4ecb37abb1b65b1256c9c48999c73",
  pkE: "4b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b472",
  plain: "00034745540568747470730b6578616d706c652e636f6d012f",
  request:
    "010020000100014b28f881333e7c164ffc499ad9796f877f4e1051ee6d31bad19dec96c208b4726374e469135906992e1268c594d2a10c695d85" +
    "8c40a026e7965e7d86b83dd440b2c0185204b4d63525",
  response: "c789e7151fcba46158ca84b04464910d86f9013e404feea014e7be4a441f234f857fbd",
};

test("RFC 9458 A: key configuration, encapsulated request, opened response", async () => {
  const bytes = fromHex(OHTTP.config);
  const config = keyConfig(concat(integer(bytes.length, 2), bytes));
  assert.equal(config.id, 1);
  const { sealed, open } = await encapsulate(config, fromHex(OHTTP.plain), await pair(OHTTP.skE, OHTTP.pkE));
  assert.equal(toHex(sealed), OHTTP.request);
  const answer = await open(fromHex(OHTTP.response));
  assert.equal(toHex(answer), "0140c8");
  assert.deepEqual(decodeResponse(answer), { status: 200, content: new Uint8Array(0) });
  for (const bad of [OHTTP.response.slice(0, 20), OHTTP.response.slice(0, -2) + "00"]) await assert.rejects(open(fromHex(bad)));
});

test("key configurations of other algorithms are passed over, broken ones refused", () => {
  const bytes = fromHex(OHTTP.config);
  const prefixed = (config) => concat(integer(config.length, 2), config);
  const other = fromHex("07001004".padEnd(2 * (3 + 65), "0") + "000400010001");
  const chacha = concat(bytes.slice(0, 35), fromHex("000400010003"));
  const second = bytes.slice();
  second[0] = 9;
  assert.equal(keyConfig(concat(prefixed(other), prefixed(chacha), prefixed(second))).id, 9);
  for (const bad of [new Uint8Array(0), prefixed(chacha), prefixed(bytes).slice(0, 30), bytes])
    assert.throws(() => keyConfig(bad), RangeError);
});

test("RFC 9292 figure 8: a request of known length", () => {
  const headers = [
    ["user-agent", "curl/7.16.3 libcurl/7.16.3 OpenSSL/0.9.7l zlib/1.2.3"],
    ["host", "www.example.com"],
    ["accept-language", "en, mi"],
  ];
  const request = { method: "GET", scheme: "https", authority: "", path: "/hello.txt", headers, content: new Uint8Array(0) };
  assert.equal(
    toHex(encodeRequest(request)),
    "0003474554056874747073000a2f68656c6c6f2e747874406c0a757365722d6167656e74346375726c2f372e31362e33206c69626375726c2f" +
      "372e31362e33204f70656e53534c2f302e392e376c207a6c69622f312e322e3304686f73740f7777772e6578616d706c652e636f6d0f61636365" +
      "70742d6c616e677561676506656e2c206d690000",
  );
});

test("RFC 9292 figures 11 and 13: responses, with informational ones before and trailers after", () => {
  const long = fromHex(
    "0340660772756e6e696e670a22736c65657020313522004067046c696e6b233c2f7374796c652e6373733e3b2072656c3d7072656c6f61643b2061" +
      "733d7374796c65046c696e6b243c2f7363726970742e6a733e3b2072656c3d7072656c6f61643b2061733d7363726970740040c80464617465" +
      "1d4d6f6e2c203237204a756c20323030392031323a32383a353320474d5406736572766572064170616368650d6c6173742d6d6f6469666965" +
      "641d5765642c203232204a756c20323030392031393a31353a353620474d5404657461671422333461613338372d642d313536386562303022" +
      "0d6163636570742d72616e6765730562797465730e636f6e74656e742d6c656e67746802353104766172790f4163636570742d456e636f6469" +
      "6e670c636f6e74656e742d747970650a746578742f706c61696e003348656c6c6f20576f726c6421204d7920636f6e74656e7420696e636c75" +
      "646573206120747261696c696e672043524c462e0d0a0000",
  );
  const decoded = decodeResponse(long);
  assert.equal(decoded.status, 200);
  assert.equal(text(decoded.content), "Hello World! My content includes a trailing CRLF.\r\n");
  const short = fromHex("0140c8001d5468697320636f6e74656e7420636f6e7461696e732043524c462e0d0a0d07747261696c65720474657874");
  assert.equal(text(decodeResponse(short).content), "This content contains CRLF.\r\n");
  // Cut inside the content, or not a response at all.
  for (const bad of [long.slice(0, -30), short.slice(0, 20), fromHex("0040c8"), new Uint8Array(0)])
    assert.throws(() => decodeResponse(bad), RangeError);
});

test("bytes and text", () => {
  for (const size of [0, 1, 2, 3, 4, 250]) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 37 + 251) % 256);
    assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
    assert.deepEqual(fromHex(toHex(bytes)), bytes);
  }
  for (const bad of ["AA==", "A+", "AB", "A", "é", 7]) assert.throws(() => fromBase64(bad)); // AB: stray bits
  for (const bad of ["0", "0G", "AB"]) assert.throws(() => fromHex(bad), RangeError);
  assert.throws(() => integer(256, 1), RangeError);
});
