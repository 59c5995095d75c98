/**
 * Web servers as many as what is popular needs: NetAlytics' updater (Middleware'16, 7.3).
 *
 * <pre>
 * windows of a top-k ─▶ ReplicaManager ─▶ Updater: how many servers, which pages on all of them
 *                            ├─▶ ServerCommands: starts and stops servers
 *                            ├─▶ Replicator: copies pages from the first server, over HTTP
 *                            └─▶ PoolStore: where each page is, in Redis ─▶ nginx
 * </pre>
 *
 * It stands beside the results and reads them as anybody can, so it may be started, ended or
 * replaced while the query runs.
 */
package io.tapline.control.replicas;
