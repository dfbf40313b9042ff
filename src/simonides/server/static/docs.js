// Shows the API; a request from this page carries the login's cookie, or the token of "Authorize".
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
