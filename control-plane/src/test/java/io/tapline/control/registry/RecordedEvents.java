package io.tapline.control.registry;

import static org.assertj.core.api.Assertions.assertThat;

import io.tapline.schema.rpc.MonitorStatus;
import io.tapline.schema.rpc.QueryAccounting;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Records the events of a query as strings. */
final class RecordedEvents implements AssignmentEvents {
  final BlockingQueue<String> words = new LinkedBlockingQueue<>();

  @Override
  public void running() {
    words.add("running");
  }

  @Override
  public void credits(MonitorStatus.Credits usage) {
    words.add("credits " + usage.getTaken());
  }

  @Override
  public void triggers(MonitorStatus.Triggers response) {
    words.add("triggers %d %s".formatted(response.getVersion(), response.getMessage()).strip());
  }

  @Override
  public void limited(double rate) {
    words.add("limited " + rate);
  }

  @Override
  public void ended(QueryAccounting accounting) {
    words.add("ended " + accounting.getPacketsIn());
  }

  @Override
  public void failed(String kind, String reason) {
    words.add("failed " + kind + ": " + reason);
  }

  @Override
  public void lost(String reason) {
    words.add("lost: " + reason);
  }

  @Override
  public void disconnected() {
    words.add("away");
  }

  @Override
  public void warning(String message) {
    words.add("warning " + message);
  }

  String next() throws InterruptedException {
    String word = words.poll(LiveRegistry.SECONDS, TimeUnit.SECONDS);
    assertThat(word).as("an event").isNotNull();
    return word;
  }
}
