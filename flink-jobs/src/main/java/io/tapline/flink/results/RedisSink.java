package io.tapline.flink.results;

import io.tapline.flink.Endpoints;
import io.tapline.flink.QuerySpec;
import java.io.IOException;
import java.time.Duration;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.runtime.execution.SuppressRestartsException;

/**
 * Writes each update to Redis with one call of a Redis Function, in sequence.
 *
 * <p>A write is complete when {@code write} returns, so checkpoints do not wait. Calls that are
 * repeated after a failure have no effect. A call that fails temporarily is retried for a minute;
 * then the job fails and restarts from its last checkpoint. If Redis is unreachable when the job
 * starts, the job fails permanently, since this indicates a configuration error.
 */
public final class RedisSink implements Sink<Update> {
  private static final Duration START_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration TIMEOUT = Duration.ofSeconds(60);

  private final QuerySpec query;
  private final Endpoints endpoints;
  private final int windowsKept;

  /**
   * Creates a sink for a query's updates.
   *
   * @param windowsKept maximum number of windows in the results stream
   */
  public RedisSink(QuerySpec query, Endpoints endpoints, int windowsKept) {
    this.query = query;
    this.endpoints = endpoints;
    this.windowsKept = windowsKept;
  }

  @Override
  public SinkWriter<Update> createWriter(WriterInitContext context) throws IOException {
    boolean isFirst =
        context.getRestoredCheckpointId().isEmpty()
            && context.getTaskInfo().getAttemptNumber() == 0;
    RedisFunctions redis = new RedisFunctions(endpoints.redis());
    try {
      redis.connect(isFirst ? START_TIMEOUT : TIMEOUT);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("stopped while waiting for Redis", e);
    } catch (IOException e) {
      redis.close();
      if (isFirst) {
        throw new SuppressRestartsException(e);
      }
      throw e;
    }
    return new Writer(redis, new RedisCalls(query, windowsKept));
  }

  private record Writer(RedisFunctions redis, RedisCalls calls) implements SinkWriter<Update> {
    @Override
    public void write(Update update, Context context) throws IOException, InterruptedException {
      redis.call(calls.of(update), TIMEOUT);
    }

    @Override
    public void flush(boolean endOfInput) {}

    @Override
    public void close() {
      redis.close();
    }
  }
}
