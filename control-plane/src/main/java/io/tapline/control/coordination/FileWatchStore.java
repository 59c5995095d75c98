package io.tapline.control.coordination;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tapline.control.access.ReplacedFile;
import io.tapline.control.drill.WatchRecord;
import io.tapline.control.drill.WatchStore;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Keeps watches in a JSON file, which each change replaces atomically. A lock on a second file
 * keeps out other servers; the system releases it when the process ends for any reason.
 */
public final class FileWatchStore implements WatchStore, AutoCloseable {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /**
   * Size of each epoch's range of alert numbers. A server uses fewer, and JSON represents the
   * numbers exactly even after a million restarts.
   */
  private static final long ALERTS_PER_EPOCH = 1_000_000_000;

  private final Path file;
  private final FileChannel lock;
  private final long epoch;
  private final Map<String, WatchRecord> watches = new LinkedHashMap<>();
  private Map<String, Long> lastHeard = new LinkedHashMap<>();

  /**
   * Opens the file, or creates it.
   *
   * @throws IOException with a user-facing message if the file can't be read or written, is not a
   *     watch file, or is in use by another server
   */
  public FileWatchStore(Path file) throws IOException {
    this.file = file;
    this.lock = lock(file);
    try {
      epoch = load() + 1;
      save();
    } catch (IOException | RuntimeException e) {
      lock.close();
      throw e;
    }
  }

  private static FileChannel lock(Path file) throws IOException {
    Path lockFile = file.resolveSibling(file.getFileName() + ".lock");
    FileChannel channel = null;
    try {
      channel = FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
      FileLock acquired = channel.tryLock();
      if (acquired != null) {
        return channel;
      }
    } catch (OverlappingFileLockException e) {
      // Another store of this process has the lock.
    } catch (IOException e) {
      throw new IOException(
          "can't write %s: does its folder exist, and is it writable?".formatted(lockFile), e);
    }
    channel.close();
    throw new IOException(file + ": another server keeps its watches there");
  }

  /** Reads the file; returns the last server's epoch, or -1 if there is no file. */
  private long load() throws IOException {
    JsonNode json;
    try {
      json = MAPPER.readTree(Files.readString(file));
    } catch (NoSuchFileException absent) {
      return -1;
    } catch (JsonProcessingException e) {
      throw new IOException(file + " is not a file of watches: " + e.getOriginalMessage(), e);
    }
    if (!json.path("epoch").isIntegralNumber() || !json.path("watches").isArray()) {
      throw new IOException(file + " is not a file of watches: it lacks \"epoch\" or \"watches\"");
    }
    for (JsonNode watchJson : json.path("watches")) {
      try {
        WatchRecord watch = WatchJson.read(watchJson);
        watches.put(watch.id(), watch);
      } catch (IOException e) {
        throw new IOException(file + ": " + e.getMessage(), e);
      }
    }
    json.path("heard_ns")
        .properties()
        .forEach(field -> lastHeard.put(field.getKey(), field.getValue().asLong()));
    return json.path("epoch").asLong();
  }

  private void save() throws IOException {
    ObjectNode json = MAPPER.createObjectNode();
    json.put("epoch", epoch);
    json.set("heard_ns", MAPPER.valueToTree(lastHeard));
    List<ObjectNode> all = new ArrayList<>();
    watches.values().forEach(watch -> all.add(WatchJson.of(watch)));
    json.putArray("watches").addAll(all);
    ReplacedFile.write(file, json.toPrettyString() + "\n");
  }

  @Override
  public long lastAlert() {
    return epoch * ALERTS_PER_EPOCH;
  }

  @Override
  public synchronized void putAll(List<WatchRecord> changed) throws IOException {
    Map<String, WatchRecord> previousWatches = new LinkedHashMap<>(watches);
    changed.forEach(watch -> watches.put(watch.id(), watch));
    saveOr(previousWatches);
  }

  @Override
  public synchronized void removeAll(Collection<String> ids) throws IOException {
    Map<String, WatchRecord> previousWatches = new LinkedHashMap<>(watches);
    if (watches.keySet().removeAll(ids)) {
      saveOr(previousWatches);
    }
  }

  private void saveOr(Map<String, WatchRecord> previousWatches) throws IOException {
    try {
      save();
    } catch (IOException e) {
      watches.clear();
      watches.putAll(previousWatches);
      throw e;
    }
  }

  @Override
  public synchronized List<WatchRecord> watches() {
    return List.copyOf(watches.values());
  }

  @Override
  public synchronized void putLastHeard(Map<String, Long> heardNs) throws IOException {
    lastHeard = new LinkedHashMap<>(heardNs);
    save();
  }

  @Override
  public synchronized Map<String, Long> lastHeard() {
    return Map.copyOf(lastHeard);
  }

  /** Releases the file for another server. */
  @Override
  public void close() {
    try {
      lock.close();
    } catch (IOException e) {
      // The lock ends with this process.
    }
  }
}
