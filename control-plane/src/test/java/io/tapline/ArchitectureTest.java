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
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Which package uses which other, over all modules: as make/packages.txt allows, without cycles.
 */
class ArchitectureTest {
  private static final String ROOT = "io.tapline.";
  private static final Path TABLE =
      Path.of(System.getProperty("tapline.root", "..")).resolve("make/packages.txt");

  private static JavaClasses classes;

  @BeforeAll
  static void read() {
    classes =
        new ClassFileImporter()
            .withImportOption(new ImportOption.DoNotIncludeTests())
            .importPackages("io.tapline")
            .that(DescribedPredicate.describe("are ours", ArchitectureTest::isKnown));
  }

  /** Leaves out other modules' tests, which are on the class path, and generated benchmarks. */
  private static boolean isKnown(JavaClass type) {
    return !type.getPackageName().endsWith(".jmh_generated")
        && type.getSource()
            .map(source -> !source.getUri().toString().contains("test-classes"))
            .orElse(false);
  }

  /**
   * The package's name below io.tapline; generated classes belong to the package that uses them,
   * and each aggregate's package to all aggregates, so that adding one changes no table.
   */
  private static String packageOf(JavaClass type) {
    String name = type.getPackageName().substring(ROOT.length());
    return name.startsWith("schema.")
            || name.startsWith("aggregates.")
            || name.equals("compiler.grammar")
        ? name.substring(0, name.indexOf('.'))
        : name;
  }

  private static boolean isOurs(JavaClass type) {
    return type.getPackageName().startsWith(ROOT);
  }

  @Test
  void packagesUseWhatTheTableAllows() throws IOException {
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
              .forEach(other -> faults.add(name + " uses " + other + ", which is not allowed"));
          missing(allowed.get(name), others)
              .forEach(
                  other -> faults.add(name + " is allowed to use " + other + ", but does not"));
        });
    assertThat(faults).as("make/packages.txt").isEmpty();
  }

  private static Set<String> missing(Set<String> from, Set<String> in) {
    Set<String> missing = new TreeSet<>(from);
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

  private static Map<String, Set<String>> table() throws IOException {
    return Files.readAllLines(TABLE).stream()
        .filter(line -> !line.isEmpty() && !line.startsWith("#"))
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
