// The query language: Table 3 of the NetAlytics paper, read as docs/reference/query-language.md says.
//
// Words are not told apart here: 90s, 0.1, 10.0.2.8, h1 and tcp-conn-time are all WORD, and the compiler, which knows
// what it wants at each place, says what is wrong with one. The order of clauses is checked there too, so that a
// clause out of place does not hide the errors of the others. Nothing nests here, so no input can exhaust the stack.
grammar TaplineQuery;

// `at` may be a name: it is a WORD until KeywordRepair finds that it begins a clause.
tokens { AT }

query : clause* EOF ;

clause
  : USE queryName
  | PARSE parserList
  | FROM addressList
  | TO addressList
  | AT queueList
  | VLAN networkList
  | TENANT networkList
  | WHERE condition
  | LIMIT limit
  | SAMPLE rate
  | PROCESS processorList
  ;

queryName : WORD | STRING ;

parserList
  : parserWithArguments (COMMA parserWithArguments)*
  | OPEN parserWithArguments (COMMA parserWithArguments)* CLOSE
  ;
parserWithArguments : parserName (OPEN parserArgument (COMMA parserArgument)* CLOSE)? ;
parserName : WORD ;
parserArgument : argumentName EQUALS parserArgumentValue ;
parserArgumentValue : WORD ;

addressList : address (COMMA address)* ;
address : endpoint (COLON port)? ;
endpoint
  : STAR
  | WORD (SLASH prefixLength)?
  | STRING
  | IPV6 (SLASH prefixLength)?
  | OPEN_BRACKET IPV6 CLOSE_BRACKET (SLASH prefixLength)?
  ;
prefixLength : WORD ;
port : WORD | STAR ;

queueList : queue (COMMA queue)* ;
queue : switchName COLON switchPort ;
switchName : WORD | STRING ;
switchPort : WORD | STRING ;

networkList : network (COMMA network)* ;
network : WORD | STRING ;

// ConditionParser reads the text of a condition, here as in filters, which have no clauses around them.
condition : conditionToken+ ;
conditionToken
  : ~(USE | PARSE | FROM | TO | AT | VLAN | TENANT | WHERE | LIMIT | SAMPLE | PROCESS | UNCLOSED_STRING | UNCLOSED_COMMENT)
  ;

limit : WORD ;
rate : WORD | STAR ;

processorList : processor (COMMA processor)* ;
processor : OPEN processorName (COLON argument (COMMA argument)*)? CLOSE ;
processorName : WORD ;
argument : argumentName EQUALS value ;
argumentName : WORD ;
value : scalar | OPEN scalar (COMMA scalar)* CLOSE ;
scalar : WORD (SLASH prefixLength)* | STRING ;

USE     options { caseInsensitive = true; } : 'USE' ;
PARSE   options { caseInsensitive = true; } : 'PARSE' ;
FROM    options { caseInsensitive = true; } : 'FROM' ;
TO      options { caseInsensitive = true; } : 'TO' ;
VLAN    options { caseInsensitive = true; } : 'VLAN' ;
TENANT  options { caseInsensitive = true; } : 'TENANT' ;
WHERE   options { caseInsensitive = true; } : 'WHERE' ;
LIMIT   options { caseInsensitive = true; } : 'LIMIT' ;
SAMPLE  options { caseInsensitive = true; } : 'SAMPLE' ;
PROCESS options { caseInsensitive = true; } : 'PROCESS' ;

OPEN : '(' ;
CLOSE : ')' ;
OPEN_BRACKET : '[' ;
CLOSE_BRACKET : ']' ;
COMMA : ',' ;
COLON : ':' ;
EQUALS : '=' ;
SLASH : '/' ;
STAR : '*' ;

// Two colons at least: `h1:80` is a word, a colon and a word.
IPV6 : [0-9a-fA-F]* ':' [0-9a-fA-F]* ':' [0-9a-fA-F:.]* ;
// A word may hold '-' but not '--', which begins a comment; a leading '-' lets -1 be refused as a number.
WORD : '-'? WORD_PART ('-' WORD_PART)* ;
fragment WORD_PART : [\p{L}\p{N}_.]+ ;

STRING : '"' STRING_PART* '"' ;
UNCLOSED_STRING : '"' STRING_PART* ;
fragment STRING_PART : ~["\\\r\n] | '\\' ~[\r\n] ;

SPACE : [ \t\r\n]+ -> skip ;
LINE_COMMENT : '--' ~[\r\n]* -> channel(HIDDEN) ;
BLOCK_COMMENT : '/*' BLOCK_PART* '*'+ '/' -> channel(HIDDEN) ;
UNCLOSED_COMMENT : '/*' BLOCK_PART* '*'* ;
fragment BLOCK_PART : ~'*' | '*'+ ~[*/] ;

UNKNOWN : . ;
