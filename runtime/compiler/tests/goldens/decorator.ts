@sealed class A {}
