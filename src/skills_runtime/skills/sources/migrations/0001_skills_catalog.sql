-- The catalog of skills that a `pgsql` source reads; run it again as often as you like.
CREATE SCHEMA IF NOT EXISTS agent;

CREATE TABLE IF NOT EXISTS agent.skills_catalog (
    id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    namespace         text        NOT NULL,
    skill_name        text        NOT NULL,
    description       text        NOT NULL,
    body              text        NOT NULL,
    body_size         bigint      GENERATED ALWAYS AS (octet_length(body)) STORED,
    required_env_vars jsonb       NOT NULL DEFAULT '[]',
    metadata          jsonb       NOT NULL DEFAULT '{}',
    scope             text,
    etag              text,
    enabled           boolean     NOT NULL DEFAULT true,
    created_at        timestamptz NOT NULL DEFAULT now(),
    updated_at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT skills_catalog_required_env_vars_is_a_list CHECK (jsonb_typeof(required_env_vars) = 'array'),
    CONSTRAINT skills_catalog_metadata_is_an_object CHECK (jsonb_typeof(metadata) = 'object')
);

-- A name may come twice while one of them is switched off.
CREATE UNIQUE INDEX IF NOT EXISTS skills_catalog_one_enabled_skill_per_name
    ON agent.skills_catalog (namespace, skill_name)
    WHERE enabled;
