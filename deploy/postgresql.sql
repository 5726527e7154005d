-- The database and its two roles, by a superuser, once. zenserve_owner has the tables and migrates them;
-- zenserve_service reads and writes rows, and can change no table.
--
--   ZENSERVE_OWNER_PASSWORD=… ZENSERVE_SERVICE_PASSWORD=… psql -v ON_ERROR_STOP=1 -f deploy/postgresql.sql
\getenv owner_password ZENSERVE_OWNER_PASSWORD
\getenv service_password ZENSERVE_SERVICE_PASSWORD
\if :{?database} \else
  \set database zenserve
\endif

CREATE ROLE zenserve_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE zenserve_service LOGIN PASSWORD :'service_password';
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
