package io.tapline.flink.results;

import io.tapline.flink.Endpoints;
import io.tapline.flink.QuerySpec;
import io.tapline.flink.TriggerSpec;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/**
 * Delivers the alerts of triggers to webhooks and Kafka topics, at least once. A checkpoint
 * contains the deliveries that a webhook has not acknowledged, and completes only after all earlier
 * alerts have arrived in their topics.
 */
public final class AlertSink
    implements Sink<WindowUpdate>, SupportsWriterState<WindowUpdate, AlertDelivery> {
  /**
   * Environment variable that contains the secret for signing webhooks. Users can read plans, but
   * not this variable.
   */
  public static final String SECRET = "TAPLINE_WEBHOOK_SECRET";

  private final QuerySpec query;
  private final Endpoints endpoints;

  public AlertSink(QuerySpec query, Endpoints endpoints) {
    this.query = query;
    this.endpoints = endpoints;
  }

  @Override
  public Writer createWriter(WriterInitContext context) {
    return restoreWriter(context, List.of());
  }

  @Override
  public Writer restoreWriter(
      WriterInitContext context, Collection<AlertDelivery> waitingDeliveries) {
    String secret = System.getenv().getOrDefault(SECRET, "");
    Receivers receivers = Receivers.of(query, Backplane.of(endpoints));
    Writer writer = new Writer(query, endpoints, new Webhooks(secret, receivers));
    waitingDeliveries.forEach(writer.webhooks::add);
    return writer;
  }

  @Override
  public SimpleVersionedSerializer<AlertDelivery> getWriterStateSerializer() {
    return new AlertDelivery.Serializer();
  }

  static final class Writer implements StatefulSinkWriter<WindowUpdate, AlertDelivery> {
    private final QuerySpec query;
    private final Endpoints endpoints;
    private final Webhooks webhooks;
    private AlertTopics topics;

    Writer(QuerySpec query, Endpoints endpoints, Webhooks webhooks) {
      this.query = query;
      this.endpoints = endpoints;
      this.webhooks = webhooks;
      webhooks.start();
    }

    @Override
    public void write(WindowUpdate update, Context context)
        throws IOException, InterruptedException {
      TriggerSpec trigger = update.processor(query).trigger();
      if (trigger == null) {
        return;
      }
      for (String alert : update.rows(query, update.completeness(query))) {
        for (TriggerSpec.Webhook webhook : trigger.webhooks()) {
          webhooks.add(new AlertDelivery(webhook.url(), alert));
        }
        for (String topic : trigger.topics()) {
          topics().send(topic, alert);
        }
      }
    }

    private AlertTopics topics() {
      if (topics == null) {
        topics = new AlertTopics(query.query(), endpoints.kafka());
      }
      return topics;
    }

    @Override
    public void flush(boolean endOfInput) throws IOException, InterruptedException {
      if (topics != null) {
        topics.flush();
      }
    }

    @Override
    public List<AlertDelivery> snapshotState(long checkpoint) {
      return webhooks.pending();
    }

    @Override
    public void close() {
      webhooks.close();
      if (topics != null) {
        topics.close();
      }
    }
  }
}
