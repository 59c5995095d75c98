/**
 * Scales web servers with the popularity of their pages: NetAlytics' updater (Middleware'16, 7.3).
 *
 * <pre>
 * windows of a top-k ─▶ ReplicaManager ─▶ Updater: number of servers, pages on all of them
 *                            ├─▶ ServerCommands: starts and stops servers
 *                            ├─▶ Replicator: copies pages from the first server, over HTTP
 *                            └─▶ PoolStore: the servers of each page, in Redis ─▶ nginx
 * </pre>
 *
 * The manager reads the results like any other client, so it may be started, ended or replaced
 * while the query runs.
 */
package io.tapline.control.replicas;
