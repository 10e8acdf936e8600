#!/usr/bin/env mlrun
"use strict";
                                
import {         run,        } from "./b.ts";
                           
import def, {        } from "./e.ts";
import "./side-effect.ts";
import data from "./x.json" with { type: "json" };
                  
export {         run };
export * from "./d.ts";

                      
                                                  
;                              
                                          
                                              
;                                

;                                 
const f =     (a        , b          , ...rest          )             => (a                     ) + rest.length;
                               
                               
function over(               a     ) { return a .b .c                 ; }
let définition         = "ü😀", late         ;
         class K    extends (def       )                               {
                        
                   x         = 1;
  static          accessorLike         ;
         y         ;
                     
                        
            async *gen    (v   )                    { yield v; }
  constructor(public_        ) { super(public_); }
  get a()    { return 1; }
}
const asserted = (    f(1)), gen = run        (data), inst = f        ;
const multi = (x   
            
     
            
) => ({ b: x.a });
try { run(); } catch (e         ) { throw (      e) }
for (const [k, v] of Object.entries(data                          )                      ) run(k, v);
export default f                   ;
