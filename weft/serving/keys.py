"""The API key, if the service has one."""

import hmac
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from weft.serving.answers import http_error
from weft.serving.service import Served, Service

Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def check(service: Service, bearer: HTTPAuthorizationCredentials | None, field: str = "", status: int = 403) -> None:
    """Raise an HTTP error unless the request has the key, in a header or a field. Comparing takes constant time."""
    key = service.settings.api_key
    if key is None:
        return
    given = bearer.credentials if bearer else field
    if not hmac.compare_digest(key.encode(), given.encode()):
        raise http_error("the API key is wrong." if given else "this service requires an API key.", status)


async def _required(service: Served, bearer: Bearer) -> None:
    check(service, bearer)


async def _required_by_openai(service: Served, bearer: Bearer) -> None:
    check(service, bearer, status=401)


openai_required = Depends(_required_by_openai)
required = Depends(_required)  # for a router: clients send Authorization: Bearer KEY
