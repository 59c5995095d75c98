// The query language: Table 3 of the NetAlytics paper, as specified in docs/reference/query-language.md.
//
// The lexer does not distinguish words: 90s, 0.1, 10.0.2.8, h1 and tcp-conn-time are all WORD. The compiler, which
// knows what each place requires, reports invalid ones. It also checks the order of clauses, so a misplaced clause does
// not hide the errors of the others. The grammar has no nesting, so no input can exhaust the stack.
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

// ConditionParser parses the text of a condition, both here and in filters, which have no clauses around them.
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

// At least two colons: `h1:80` is a word, a colon and a word.
IPV6 : [0-9a-fA-F]* ':' [0-9a-fA-F]* ':' [0-9a-fA-F:.]* ;
// A word may contain '-' but not '--', which begins a comment. A leading '-' lets the compiler reject -1 as a number.
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
