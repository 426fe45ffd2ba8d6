export function missing(){const element=document.createElement("div");return{element,update(){},title:()=>"x"}}
