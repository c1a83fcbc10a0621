# One image for web, worker, beat and the one-shot set-up; docker-compose.yml says which command each runs.

FROM python:3.12-slim AS build
WORKDIR /srv/preceptor
COPY requirements.lock requirements-dev.lock ./
# uv at its locked version and hash, then the product's locked packages, without the extra `embedded`.
RUN awk '/^uv==/ { print; on = 1; next } /^[^ ]/ { on = 0 } on' requirements-dev.lock > uv.lock \
    && pip install --no-cache-dir --require-hashes -r uv.lock \
    && python -m venv --without-pip .venv \
    && uv pip install --no-cache --python .venv/bin/python --require-hashes --compile-bytecode -r requirements.lock
COPY manage.py pyproject.toml ./
COPY config config
COPY apps apps
COPY templates templates
COPY static static
RUN SECRET_KEY=used-for-this-one-command-only .venv/bin/python manage.py collectstatic --noinput

FROM python:3.12-slim
# The model's client trusts the system's certificates and brings none of its own.
# PostgreSQL's own packages have the client programs of the server's version, for backups.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates postgresql-common \
    && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
    && apt-get install -y --no-install-recommends postgresql-client-18 && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 preceptor \
    && useradd --system --uid 10001 --gid preceptor --no-create-home --home-dir /nonexistent preceptor \
    && install --directory --owner=preceptor --group=preceptor --mode=0700 /var/lib/preceptor/attachments
WORKDIR /srv/preceptor
COPY --from=build /srv/preceptor/.venv .venv
COPY --from=build /srv/preceptor/manage.py /srv/preceptor/pyproject.toml ./
COPY --from=build /srv/preceptor/config config
COPY --from=build /srv/preceptor/apps apps
COPY --from=build /srv/preceptor/templates templates
COPY --from=build /srv/preceptor/static static
COPY --from=build /srv/preceptor/staticfiles staticfiles
# The page at /docs/errors.
COPY docs/errors.md docs/errors.md
ENV PATH=/srv/preceptor/.venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER preceptor
EXPOSE 8000
CMD ["uvicorn", "config.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--lifespan", "on", \
     "--http", "h11", "--ws", "none", "--proxy-headers", "--timeout-graceful-shutdown", "20"]
