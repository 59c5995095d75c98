/**
 * The pipeline's servers, for one process: a Kafka broker and a Flink mini cluster within it, a
 * redis-server and monitors as its children, on free loopback ports and a Unix socket, with their
 * files in one temporary folder. All of them end with the process, even if it crashes.
 */
package io.tapline.control.embedded;
