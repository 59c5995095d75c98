/**
 * Code shared by all routes: JSON, request bodies, problem documents, access control and the
 * OpenAPI document.
 *
 * <p>{@link io.tapline.control.rest.http.Route} is the only table of operations: handlers, the 405
 * responses and the OpenAPI document are derived from it.
 */
package io.tapline.control.rest.http;
