// Nothing typed here: the text comes out as it went in.
const x = { a: 1 , b : [ 1,2 ] };
console.log( x );
