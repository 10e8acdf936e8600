function f() {
	return 日本 + ;
}
