/** The API's interactive description. In a file of its own: the policy for all pages lets no script be inline. */

declare const SwaggerUIBundle: {
  (options: Readonly<Record<string, unknown>>): void;
  readonly presets: { readonly apis: unknown };
  readonly SwaggerUIStandalonePreset: unknown;
};

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  showExtensions: true,
  showCommonExtensions: true,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
});

export {};
