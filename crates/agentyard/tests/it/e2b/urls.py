"""Signed addresses of files, which any program can use without a key."""

import urllib.error
import urllib.request

import httpx
from checks import a_sandbox, holds, run, same, settle


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


async def main():
    async with a_sandbox() as sandbox, a_sandbox() as other:
        await settle(sandbox.files.write("report.txt", "of this one"))
        await settle(other.files.write("report.txt", "of the other one"))
        url = sandbox.download_url("report.txt")
        with urllib.request.urlopen(url, timeout=30) as answer:
            same("a file is downloaded", answer.read(), b"of this one")
        with urllib.request.urlopen(other.download_url("report.txt"), timeout=30) as answer:
            same("of the sandbox that signed", answer.read(), b"of the other one")
        with urllib.request.urlopen(sandbox.download_url("/home/user/report.txt", user="user"), timeout=30) as answer:
            same("as a user", answer.read(), b"of this one")
        uploaded = httpx.post(sandbox.upload_url("uploaded.txt"), files={"file": b"from outside"}, timeout=30)
        same("a file is uploaded", (uploaded.status_code, uploaded.json()[0]["path"]), (200, "/home/user/uploaded.txt"))
        same("and is there", await settle(sandbox.files.read("uploaded.txt")), "from outside")
        fresh = sandbox.download_url("report.txt", use_signature_expiration=60)
        same("for a while", status_of(fresh), 200)
        stale = sandbox.download_url("report.txt", use_signature_expiration=-60)
        holds("and no longer", status_of(stale) in (401, 403), status_of(stale))
        for what, bad in {
            "nobody else's path": url.replace("report.txt", "uploaded.txt"),
            "no other time": fresh.replace("signature_expiration=", "signature_expiration=9"),
            "no other signature": url.replace("signature=v1_", "signature=v1_x"),
            "none at all": url.split("signature=")[0] + "x=",
        }.items():
            holds(f"a signature is for {what}", status_of(bad) in (400, 401, 403, 404), status_of(bad))
        written = httpx.post(url, files={"file": b"overwritten"}, timeout=30)
        holds("reading is not writing", written.status_code in (401, 403), written.status_code)
    holds("nor does it outlive the sandbox", status_of(url) in (401, 403, 404, 502), status_of(url))


run(main)
