package io.tapline;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Checks the dependencies between the packages of all modules, which are on this module's class
 * path: make/packages.txt must list exactly these dependencies, and they must not form cycles. Also
 * limits the number of files per package.
 */
class ArchitectureTest {
  private static final String ROOT = "io.tapline.";
  private static final Path HOME = Path.of(System.getProperty("tapline.root", ".."));
  private static final Path TABLE = HOME.resolve("make/packages.txt");

  /** Prefix of the line in the table that sets the maximum number of files per package. */
  private static final String MAX = "most:";

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes =
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.tapline")
            .that(DescribedPredicate.describe("are ours", ArchitectureTest::isKnown));
  }

  /**
   * Returns false for other modules' tests, which are on the class path, and for generated
   * benchmarks.
   */
  private static boolean isKnown(JavaClass type) {
    return !type.getPackageName().endsWith(".jmh_generated")
        && type.getSource()
            .map(source -> !source.getUri().toString().contains("test-classes"))
            .orElse(false);
  }

  /**
   * Returns the name of the class's package without "io.tapline.". Generated classes belong to the
   * package that uses them. The packages of aggregates count as one, so a new aggregate needs no
   * line in the table.
   */
  private static String packageOf(JavaClass type) {
    String name = type.getPackageName().substring(ROOT.length());
    if (name.startsWith("aggregates.")) {
      return "aggregates.*";
    } else if (name.startsWith("schema.")) {
      return "schema";
    }
    return name.endsWith(".grammar") ? name.substring(0, name.lastIndexOf('.')) : name;
  }

  private static boolean isOurs(JavaClass type) {
    return type.getPackageName().startsWith(ROOT);
  }

  @Test
  void packagesUseOnlyAllowedPackages() throws IOException {
    Map<String, Set<String>> used = new TreeMap<>();
    for (JavaClass type : classes) {
      Set<String> others = used.computeIfAbsent(packageOf(type), name -> new TreeSet<>());
      for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
        JavaClass target = dependency.getTargetClass().getBaseComponentType();
        if (isOurs(target) && !packageOf(target).equals(packageOf(type))) {
          others.add(packageOf(target));
        }
      }
    }
    Map<String, Set<String>> allowed = table();
    assertThat(used.keySet()).containsExactlyInAnyOrderElementsOf(allowed.keySet());
    List<String> faults = new ArrayList<>();
    used.forEach(
        (name, others) -> {
          missing(others, allowed.get(name))
              .forEach(
                  usedPackage ->
                      faults.add(name + " uses " + usedPackage + ", which is not allowed"));
          missing(allowed.get(name), others)
              .forEach(
                  usedPackage ->
                      faults.add(name + " is allowed to use " + usedPackage + ", but does not"));
        });
    assertThat(faults).as("make/packages.txt").isEmpty();
  }

  private static Set<String> missing(Set<String> names, Set<String> in) {
    Set<String> missing = new TreeSet<>(names);
    missing.removeAll(in);
    return missing;
  }

  @Test
  void packagesHaveNoCycles() {
    SlicesRuleDefinition.slices()
        .assignedFrom(
            new SliceAssignment() {
              @Override
              public SliceIdentifier getIdentifierOf(JavaClass type) {
                return isOurs(type)
                    ? SliceIdentifier.of(packageOf(type))
                    : SliceIdentifier.ignore();
              }

              @Override
              public String getDescription() {
                return "packages";
              }
            })
        .should()
        .beFreeOfCycles()
        .check(classes);
  }

  @Test
  void packagesHaveABoundedNumberOfFiles() throws IOException {
    int max = max();
    Map<String, Long> large = new TreeMap<>();
    for (String module : modules()) {
      try (Stream<Path> files = Files.walk(HOME.resolve(module).resolve("src/main/java"))) {
        files
            .filter(file -> file.toString().endsWith(".java"))
            .collect(
                Collectors.groupingBy(file -> file.getParent().toString(), Collectors.counting()))
            .forEach(
                (folder, count) -> {
                  if (count > max) {
                    large.put(folder, count);
                  }
                });
      }
    }
    assertThat(large).as("folders with more than %d files (make/packages.txt)", max).isEmpty();
  }

  /** Returns the build's modules, as listed in the pom. */
  private static List<String> modules() throws IOException {
    List<String> modules =
        Pattern.compile("<module>(.+?)</module>")
            .matcher(Files.readString(HOME.resolve("pom.xml")))
            .results()
            .map(match -> match.group(1))
            .toList();
    assertThat(modules).contains("control-plane");
    return modules;
  }

  private static int max() throws IOException {
    return Files.readAllLines(TABLE).stream()
        .filter(line -> line.startsWith(MAX))
        .mapToInt(line -> Integer.parseInt(line.substring(MAX.length()).strip()))
        .findFirst()
        .orElseThrow();
  }

  private static Map<String, Set<String>> table() throws IOException {
    return Files.readAllLines(TABLE).stream()
        .filter(line -> !line.isEmpty() && !line.startsWith("#") && !line.startsWith(MAX))
        .map(line -> line.split(":", 2))
        .collect(
            Collectors.toMap(
                line -> line[0],
                line ->
                    Arrays.stream(line[1].split(" "))
                        .filter(word -> !word.isEmpty())
                        .collect(Collectors.toCollection(TreeSet::new)),
                (a, b) -> a,
                TreeMap::new));
  }
}
