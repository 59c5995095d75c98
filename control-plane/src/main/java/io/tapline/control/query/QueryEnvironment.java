package io.tapline.control.query;

import io.tapline.control.accounting.MirrorAccounting;
import io.tapline.control.query.services.Backend;
import io.tapline.control.query.services.TopicKeeper;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntSupplier;

/**
 * The services and limits that all queries of a control plane share.
 *
 * @param fileMonitors number of running monitor processes that read capture files
 * @param accounting accounting of mirrored packets
 * @param running returns the number of running queries
 */
record QueryEnvironment(
    Backend backend,
    QueryStore store,
    TopicKeeper topics,
    AtomicInteger fileMonitors,
    QueryPlacements placements,
    MirrorAccounting accounting,
    IntSupplier running) {}
