# Lists the tests that were skipped within programs that passed, for which ctest has no word. Reads ctest's log, LastTest.log.
/^[0-9]+\/[0-9]+ Test: / { program = $3; all = 0 }
/^\[  PASSED  \] 0 tests/ { all = 1 }
/^\[  SKIPPED \] / && !/listed below|ms\)$/ && !all { sub(",$", "", $4); print "Skipped in " program ": " $4 }
/^OK \(skipped=/ && ran > 0 { print "Skipped in " program ": " substr($2, 10) + 0 " of " ran }
/^Ran [0-9]+ tests? in / { ran = $2 }
