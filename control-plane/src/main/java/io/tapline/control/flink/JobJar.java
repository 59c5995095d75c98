package io.tapline.control.flink;

import io.tapline.aggregates.Aggregates;
import io.tapline.aggregates.MergeableAggregate;
import io.tapline.conditions.ConditionProgram;
import io.tapline.flink.job.QueryJob;
import io.tapline.network.IpPrefix;
import io.tapline.schema.proto.Plan;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * The jar for Flink clusters: the job and all Tapline classes that it uses, including aggregates
 * from outside the repository. Hence jobs of several versions can run in one cluster, whose {@code
 * lib} has none of these classes.
 */
public final class JobJar {
  private static final String SERVICES = "META-INF/services/";

  /** One class from each module that the job uses. */
  private static final List<Class<?>> USED =
      List.of(
          QueryJob.class,
          Plan.class,
          IpPrefix.class,
          ConditionProgram.class,
          MergeableAggregate.class);

  private JobJar() {}

  /** Returns the jar from which this process loads the job's classes. */
  public static Path own() throws IOException {
    Path jar = location(QueryJob.class);
    if (Files.isRegularFile(jar)) {
      return jar;
    }
    throw new IOException("the stream job's classes are not in a jar but in " + jar);
  }

  /** Writes the jar into the folder. */
  public static Path write(Path folder) throws IOException {
    Set<Path> sources = new LinkedHashSet<>();
    for (Class<?> used : USED) {
      sources.add(location(used));
    }
    for (MergeableAggregate aggregate : Aggregates.all()) {
      sources.add(location(aggregate.getClass()));
    }
    Map<String, byte[]> entries = new LinkedHashMap<>();
    for (Path source : sources) {
      if (Files.isDirectory(source)) {
        addFolder(source, entries);
      } else {
        addJar(source, entries);
      }
    }
    Path jar = folder.resolve("tapline-job.jar");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar))) {
      for (Map.Entry<String, byte[]> entry : entries.entrySet()) {
        out.putNextEntry(new JarEntry(entry.getKey()));
        out.write(entry.getValue());
      }
    }
    return jar;
  }

  private static Path location(Class<?> anchor) throws IOException {
    try {
      return Path.of(anchor.getProtectionDomain().getCodeSource().getLocation().toURI());
    } catch (URISyntaxException e) {
      throw new IOException("the jar of " + anchor.getName() + " is not found", e);
    }
  }

  private static void addJar(Path jar, Map<String, byte[]> entries) throws IOException {
    try (ZipFile file = new ZipFile(jar.toFile())) {
      for (ZipEntry entry : file.stream().filter(zipEntry -> !zipEntry.isDirectory()).toList()) {
        add(entry.getName(), file.getInputStream(entry).readAllBytes(), entries);
      }
    }
  }

  private static void addFolder(Path folder, Map<String, byte[]> entries) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        String name = folder.relativize(file).toString().replace('\\', '/');
        add(name, Files.readAllBytes(file), entries);
      }
    }
  }

  /** Adds a file. The first of several files with the same name wins; service lists are joined. */
  private static void add(String name, byte[] content, Map<String, byte[]> entries) {
    if (name.startsWith(SERVICES)) {
      entries.merge(name, content, JobJar::lines);
    } else {
      entries.putIfAbsent(name, content);
    }
  }

  private static byte[] lines(byte[] first, byte[] second) {
    ByteArrayOutputStream joinedStream = new ByteArrayOutputStream();
    joinedStream.writeBytes(first);
    joinedStream.write('\n');
    joinedStream.writeBytes(second);
    return joinedStream.toByteArray();
  }
}
