// Loading any script at run time makes deno_core give `core.ops` its fast-call functions back,
// which a snapshot cannot hold. This is the smallest script that does so.
(function () {
  return {};
})();
