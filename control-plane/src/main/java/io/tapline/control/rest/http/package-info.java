/**
 * Code shared by all routes: JSON, request bodies, problem documents, access control and the
 * OpenAPI document.
 *
 * <p>Each operation is described only once, by its {@link io.tapline.control.rest.http.Route}:
 * handlers, the 405 responses and the OpenAPI document are derived from the routes.
 */
package io.tapline.control.rest.http;
