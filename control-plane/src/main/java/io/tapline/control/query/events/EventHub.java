package io.tapline.control.query.events;

import io.tapline.control.registry.LeaseListener;
import io.tapline.schema.rpc.EventBatch;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** The events of all running queries. Thread-safe. */
public final class EventHub implements LeaseListener {
  private final Map<String, EventFeed> feeds = new ConcurrentHashMap<>();

  /** Events of this query are kept from now on. */
  public void open(String query) {
    feeds.putIfAbsent(query, new EventFeed());
  }

  /** The query has ended: its events are forgotten. */
  public void close(String query) {
    feeds.remove(query);
  }

  /** Returns the events of a running query. */
  public Optional<EventFeed> of(String query) {
    return Optional.ofNullable(feeds.get(query));
  }

  /** Takes a batch; the events of queries that do not run here are not wanted. */
  @Override
  public long events(String agent, EventBatch batch) {
    EventFeed feed = feeds.get(batch.getQuery());
    return feed == null ? LeaseListener.super.events(agent, batch) : feed.take(batch);
  }

  @Override
  public void up(String agent, String multilog) {}

  @Override
  public void lost(String agent) {}

  @Override
  public void forgotten(String agent) {}
}
