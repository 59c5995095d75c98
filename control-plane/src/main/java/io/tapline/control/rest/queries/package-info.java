/** Routes for queries, their results, and metrics of both. */
package io.tapline.control.rest.queries;
