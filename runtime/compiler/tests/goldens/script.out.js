<!-- an old comment
var await = 1, let = 2;
if (1) function g() {}
--> another
