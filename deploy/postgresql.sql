-- The database and its two roles, by a superuser. zenserve_owner has the tables and migrates them;
-- zenserve_service reads and writes rows, and can change no table. Another database, for a restore, has the same
-- roles: add `-v database=NAME`.
--
--   ZENSERVE_OWNER_PASSWORD=… ZENSERVE_SERVICE_PASSWORD=… psql -v ON_ERROR_STOP=1 -f deploy/postgresql.sql
\getenv owner_password ZENSERVE_OWNER_PASSWORD
\getenv service_password ZENSERVE_SERVICE_PASSWORD
\if :{?database} \else
  \set database zenserve
\endif

SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['zenserve_owner', 'zenserve_service']) AS name
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE zenserve_owner PASSWORD :'owner_password';
ALTER ROLE zenserve_service PASSWORD :'service_password';
CREATE DATABASE :"database" OWNER zenserve_owner;
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
GRANT CONNECT ON DATABASE :"database" TO zenserve_service;

\connect :"database"
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO zenserve_owner;
GRANT USAGE ON SCHEMA public TO zenserve_service;
-- Of all tables that migrations will make.
ALTER DEFAULT PRIVILEGES FOR ROLE zenserve_owner IN SCHEMA public
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO zenserve_service;
ALTER DEFAULT PRIVILEGES FOR ROLE zenserve_owner IN SCHEMA public
  GRANT USAGE ON SEQUENCES TO zenserve_service;
