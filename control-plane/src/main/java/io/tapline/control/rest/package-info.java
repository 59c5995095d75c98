/**
 * Serves HTTP requests with JSON, problem documents and server-sent events. All work is delegated
 * to other packages, mainly to {@link io.tapline.control.query.QueryService}: nothing here connects
 * to Redis, Kafka or Flink. The routes are in the packages below, one for each group of resources.
 */
package io.tapline.control.rest;
