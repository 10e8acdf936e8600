let x = <div a="b">text</div>;
