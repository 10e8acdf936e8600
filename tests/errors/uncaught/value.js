throw { code: 7, nested: { list: [1, 2] } };
