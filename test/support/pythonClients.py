"""Sends the requests that standard input lists with one library, and prints their answers as JSON."""
import json
import sys


def chunks(body):
    if body:
        yield body.encode()


def send_urllib(method, url, headers, body, chunked, timeout):
    import urllib.error
    import urllib.request

    data = None if body is None else chunks(body) if chunked else body.encode()
    if data is not None and chunked:
        headers = {**headers, "transfer-encoding": "chunked"}
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def send_requests(method, url, headers, body, chunked, timeout):
    import requests

    data = None if body is None else chunks(body) if chunked else body.encode()
    response = requests.request(method, url, headers=headers, data=data, timeout=timeout)
    return response.status_code, response.text


def send_httpx(method, url, headers, body, chunked, timeout):
    import httpx

    content = None if body is None else chunks(body) if chunked else body.encode()
    response = httpx.request(method, url, headers=headers, content=content, timeout=timeout)
    return response.status_code, response.text


send = {"urllib": send_urllib, "requests": send_requests, "httpx": send_httpx}[sys.argv[1]]
asked = json.load(sys.stdin)
answers = []
for one in asked["requests"]:
    try:
        status, text = send(
            one["method"], one["url"], one["headers"], one["body"], one["chunked"], asked["timeout_s"]
        )
    except Exception as error:  # one answer that fails must not hide the others
        status, text = 0, repr(error)
    answers.append({"status": status, "text": text})
json.dump(answers, sys.stdout)
