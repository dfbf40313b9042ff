-- One schema for SQLite and PostgreSQL. {int}, {real}, {text} and {blob} are types, {strict} and
-- {clustered} ends of tables; they differ by dialect.
-- Times are milliseconds since 1970, UTC. Ids have 16 bytes. JSON is canonical text.
-- Every key begins with the owner: a statement without its owner is slow in SQLite and returns
-- nothing in PostgreSQL, where row-level security binds each table to the owners of a transaction.

CREATE TABLE meta (
  name   {text} NOT NULL PRIMARY KEY,
  value  {text} NOT NULL
) {clustered};

CREATE TABLE owners (
  owner  {text} NOT NULL PRIMARY KEY,
  epoch  {int}  NOT NULL,  -- raised when rows were deleted
  clock  {int}  NOT NULL,  -- time of the last commit; never goes back
  events {int}  NOT NULL,  -- length of the audit chain: the owner's revision
  head   {blob} NOT NULL,  -- code of its last event
  salt   {blob} NOT NULL,  -- enters the digests of what was forgotten
  rows_  {blob} NOT NULL,  -- sum of the rows that have no events
  code   {blob} NOT NULL   -- of this row
) {clustered};

-- The sum of the rows of all owners, in parts.
CREATE TABLE roots (
  part    {int}  NOT NULL PRIMARY KEY,
  leaves  {blob} NOT NULL,
  owners  {int}  NOT NULL,
  changes {int}  NOT NULL,
  code    {blob} NOT NULL
) {clustered};

-- Rows are versions. After its insertion a row only changes in status, updated_at, said_at,
-- verified_at, soft_expires_at and hard_expires_at (said again, confirmed) and in known_to, ended and ended_by
-- (out of force).
CREATE TABLE memories (
  owner           {text} NOT NULL,
  id              {blob} NOT NULL,
  root            {blob} NOT NULL,
  version         {int}  NOT NULL,
  task            {text},
  kind            {text} NOT NULL,
  category        {text} NOT NULL,
  key             {text},
  content         {text} NOT NULL,
  hash            {text} NOT NULL,
  subject         {text},
  predicate       {text},
  object          {text},
  quote           {text},
  origin          {text},
  depends_on      {text},
  speaker         {text},
  role            {text},
  session         {text},
  position        {int},
  message_id      {text},
  source          {text} NOT NULL,
  trust           {text} NOT NULL,
  audience        {text},
  confidence      {real} NOT NULL,
  importance      {text} NOT NULL,
  sensitivity     {text} NOT NULL,
  purpose         {text},
  tags            {text},
  metadata        {text},
  parents         {text},
  pinned          {int}  NOT NULL,
  timeless        {int}  NOT NULL,
  status          {text} NOT NULL,
  created_at      {int}  NOT NULL,
  updated_at      {int}  NOT NULL,
  verified_at     {int},
  valid_from      {int},
  valid_to        {int},
  known_from      {int}  NOT NULL,
  known_to        {int},
  ended           {text},
  ended_by        {blob},
  soft_expires_at {int},
  hard_expires_at {int},
  ttl             {int},            -- lifetime that a caller gave, in milliseconds
  terms           {text} NOT NULL,  -- of the indexed text, so that an index is built without analysis
  marks           {int}  NOT NULL,  -- what kind of sentence it is, for ranking
  fingerprint     {blob} NOT NULL,  -- equal for texts that may be one statement
  embedder        {text},
  vector          {blob},           -- signed bytes
  scale           {real},           -- value of one step of the vector
  token_ids       {blob},           -- of the indexed text, two bytes each
  salt            {blob} NOT NULL,  -- enters the row's digest and goes with the row
  said_at         {int}  NOT NULL,  -- when it was last said in the world
  utc_offset      {int},            -- of its time: minutes that the zone is ahead; NULL is UTC
  PRIMARY KEY (owner, id),
  UNIQUE (owner, root, version)
) {strict};

-- The last word on "one version in force under a key in a place"; some keys hold several objects.
CREATE UNIQUE INDEX memories_key ON memories
  (owner, key, COALESCE(task, ''), COALESCE(audience, ''), COALESCE(purpose, ''),
   COALESCE(object, ''))
  WHERE known_to IS NULL AND key IS NOT NULL;

-- One turn at a place of a conversation.
CREATE UNIQUE INDEX memories_turn ON memories (owner, session, position,
    COALESCE(task, ''), COALESCE(audience, ''), COALESCE(purpose, ''))
  WHERE known_to IS NULL AND position IS NOT NULL;

CREATE INDEX memories_slot ON memories (owner, subject, predicate)
  WHERE known_to IS NULL AND subject IS NOT NULL;

-- Clauses that a newer statement has ended.
CREATE TABLE endings (
  owner  {text} NOT NULL,
  older  {blob} NOT NULL,  -- id of the version that holds the clause
  newer  {blob} NOT NULL,  -- root of what ended it
  start  {int}  NOT NULL,  -- where the clause begins and stops in the text of the line;
  stop   {int}  NOT NULL,  -- both 0: all of it
  at     {int}  NOT NULL,  -- when this was known
  PRIMARY KEY (owner, older, newer, start)
) {clustered};

CREATE INDEX endings_newer ON endings (owner, newer);

-- The vectors of a version's tokens, in signed bytes; read for the best rows of a query only.
CREATE TABLE tokens (
  owner   {text} NOT NULL,
  memory  {blob} NOT NULL,  -- its id
  vectors {blob} NOT NULL,
  PRIMARY KEY (owner, memory)
) {strict};

-- The audit chain, and the feed from which indexes in memory learn what changed.
CREATE TABLE events (
  owner         {text} NOT NULL,
  seq           {int}  NOT NULL,
  at            {int}  NOT NULL,
  type          {text} NOT NULL,
  actor         {text} NOT NULL,
  subject_table {text} NOT NULL,
  subject       {blob} NOT NULL,
  reason        {text} NOT NULL,
  data          {text} NOT NULL,
  digest        {blob} NOT NULL,  -- of the row as this event left it; zeros: the row is gone
  code          {blob} NOT NULL,  -- of this event and the code before it
  PRIMARY KEY (owner, seq)
) {clustered};

-- Which memory was derived from which, across owners.
CREATE TABLE derived (
  owner        {text} NOT NULL,
  parent_owner {text} NOT NULL,
  parent       {blob} NOT NULL,
  child        {blob} NOT NULL,
  PRIMARY KEY (owner, parent_owner, parent, child)
) {clustered};

-- How often a memory was read on a day.
CREATE TABLE reads (
  owner  {text} NOT NULL,
  memory {blob} NOT NULL,  -- its root
  day    {int}  NOT NULL,  -- since 1970
  count  {int}  NOT NULL,
  last   {int}  NOT NULL,
  PRIMARY KEY (owner, memory, day)
) {clustered};

-- Fingerprints of text that recall put into a prompt.
CREATE TABLE echoes (
  owner       {text} NOT NULL,
  session     {text} NOT NULL,
  fingerprint {blob} NOT NULL,
  memory      {blob} NOT NULL,
  at          {int}  NOT NULL,
  PRIMARY KEY (owner, session, fingerprint)
) {clustered};

-- What waits: held candidates, contradictions in review, questions about privacy, unread turns.
CREATE TABLE pending (
  owner   {text} NOT NULL,
  id      {blob} NOT NULL,
  kind    {text} NOT NULL,
  at      {int}  NOT NULL,
  expires {int},
  session {text},
  data    {text} NOT NULL,
  salt    {blob} NOT NULL,
  PRIMARY KEY (owner, id)
) {clustered};

CREATE TABLE sessions (
  owner   {text} NOT NULL,
  id      {blob} NOT NULL,
  name    {text} NOT NULL,
  part    {int}  NOT NULL,
  status  {text} NOT NULL,
  step    {text} NOT NULL,
  begun   {int}  NOT NULL,
  last    {int}  NOT NULL,
  ended   {int},
  turns   {int}  NOT NULL,
  purpose {text} NOT NULL,  -- of its principal, or empty
  summary {blob},           -- root of its summary
  failed  {text},           -- why the model could not read it
  data    {text} NOT NULL,
  salt    {blob} NOT NULL,
  PRIMARY KEY (owner, name, part),
  UNIQUE (owner, id)
) {clustered};

CREATE INDEX sessions_last ON sessions (owner, purpose, last, id);

CREATE INDEX sessions_summary ON sessions (owner, last, id) WHERE summary IS NOT NULL;

CREATE INDEX sessions_failed ON sessions (owner, purpose, last, id) WHERE failed IS NOT NULL;

CREATE TABLE tasks (
  owner   {text} NOT NULL,
  id      {blob} NOT NULL,
  name    {text} NOT NULL,
  status  {text} NOT NULL,
  begun   {int}  NOT NULL,
  last    {int}  NOT NULL,
  data    {text} NOT NULL,
  salt    {blob} NOT NULL,
  PRIMARY KEY (owner, name, id),
  UNIQUE (owner, id)
) {clustered};

-- Keyed digests of what was forgotten, without content.
CREATE TABLE tombstones (
  owner  {text} NOT NULL,
  id     {blob} NOT NULL,
  digest {blob} NOT NULL,
  at     {int}  NOT NULL,
  PRIMARY KEY (owner, id),
  UNIQUE (owner, digest)
) {clustered};

-- What a user refused to have remembered.
CREATE TABLE consents (
  owner {text} NOT NULL,
  id    {blob} NOT NULL,
  kind  {text} NOT NULL,
  value {text} NOT NULL,
  at    {int}  NOT NULL,
  data  {text} NOT NULL,
  salt  {blob} NOT NULL,
  PRIMARY KEY (owner, id)
) {clustered};

-- Rights that an administrator gave within an organisation; they lie with the organisation.
CREATE TABLE grants (
  owner   {text} NOT NULL,
  id      {blob} NOT NULL,
  grantee {text} NOT NULL,
  right_  {text} NOT NULL,
  subject {text} NOT NULL,  -- user that may be read, or empty
  by_     {text} NOT NULL,
  at      {int}  NOT NULL,
  PRIMARY KEY (owner, id),
  UNIQUE (owner, grantee, right_, subject)
) {clustered};

-- Credentials of programs that come over a network; only a digest of the secret is kept.
CREATE TABLE api_tokens (
  owner   {text} NOT NULL,  -- the store: its administrators give them
  id      {blob} NOT NULL,
  prefix  {text} NOT NULL,  -- of the token, to look it up
  digest  {blob} NOT NULL,
  name    {text} NOT NULL,
  org     {text},           -- NULL: the whole store
  user_   {text},           -- NULL: any user of the organisation
  agent   {text},
  purpose {text},
  rights  {text} NOT NULL,
  by_     {text} NOT NULL,
  at      {int}  NOT NULL,
  expires {int},
  salt    {blob} NOT NULL,
  PRIMARY KEY (owner, id),
  UNIQUE (owner, prefix)
) {strict};

-- Files and pages that were read; their passages are memories of the same owner.
CREATE TABLE documents (
  owner    {text} NOT NULL,
  id       {blob} NOT NULL,
  source   {text} NOT NULL,  -- name of the folder, file or page that was added
  place    {text} NOT NULL,  -- its path or URL
  path     {text} NOT NULL,  -- of the document, within the source
  hash     {text} NOT NULL,  -- of its bytes; while it is stored, the mark of the call that does it
  passages {int}  NOT NULL,
  at       {int}  NOT NULL,  -- when it was read
  salt     {blob} NOT NULL,
  PRIMARY KEY (owner, id),
  UNIQUE (owner, source, path)
) {clustered};

-- What a digest showed and why.
CREATE TABLE receipts (
  owner   {text} NOT NULL,
  id      {blob} NOT NULL,
  at      {int}  NOT NULL,
  purpose {text} NOT NULL,  -- of the reader, or empty
  data    {text} NOT NULL,  -- ids, numbers and digests
  PRIMARY KEY (owner, id)
) {clustered};

CREATE TABLE counters (
  owner {text} NOT NULL,
  day   {int}  NOT NULL,
  name  {text} NOT NULL,
  value {int}  NOT NULL,
  PRIMARY KEY (owner, day, name)
) {clustered};

-- First outcome of a write under an idempotency key.
CREATE TABLE idempotency (
  owner  {text} NOT NULL,
  key    {text} NOT NULL,
  hash   {blob} NOT NULL,  -- keyed digest of the request
  kind   {text} NOT NULL,
  memory {blob} NOT NULL,
  at     {int}  NOT NULL,
  PRIMARY KEY (owner, key)
) {clustered};

-- Records of what was unsafe, and of what was thought of answers; they lie with the organisation.
-- Codes are keyed digests: no row says which user or conversation it is about.
CREATE TABLE safety (
  owner        {text} NOT NULL,
  id           {blob} NOT NULL,
  at           {int}  NOT NULL,
  expires      {int}  NOT NULL,
  kind         {text} NOT NULL,
  level        {text} NOT NULL,
  note         {text},
  user_code    {text},
  session_code {text},
  salt         {blob} NOT NULL,
  PRIMARY KEY (owner, id)
) {clustered};

CREATE INDEX safety_at ON safety (owner, at, id);

CREATE INDEX safety_expires ON safety (owner, expires, id);

CREATE TABLE feedback (
  owner        {text} NOT NULL,
  id           {blob} NOT NULL,
  at           {int}  NOT NULL,
  expires      {int}  NOT NULL,
  label        {text} NOT NULL,
  source       {text} NOT NULL,
  note         {text},
  user_code    {text},
  session_code {text},
  salt         {blob} NOT NULL,
  PRIMARY KEY (owner, id)
) {clustered};

CREATE INDEX feedback_at ON feedback (owner, at, id);

CREATE INDEX feedback_expires ON feedback (owner, expires, id);

-- When an owner next needs background work: the one table across owners; no content.
CREATE TABLE due (
  at    {int}  NOT NULL,
  owner {text} NOT NULL,
  job   {text} NOT NULL,  -- its name and an id
  tries {int}  NOT NULL,  -- how often it was begun since it was set
  PRIMARY KEY (owner, job)
) {clustered};

CREATE INDEX due_at ON due (at, owner, job)
